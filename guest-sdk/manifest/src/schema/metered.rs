//! JSON values that count each read as steps of a check.

use std::borrow::Cow;
use std::slice;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson, cmp, unique};
use serde_json::{Map, Number, Value};

use super::meter::{charge, charge_name, charge_text};

/// `serde_json` values with counted reads, as the validator sees them.
pub(super) struct Metered;

impl Json for Metered {
    type Node<'a> = &'a Value;
    type PreparedKey = String;
    type StringBuffer = Value;

    const KEYS_PER_LOOKUP: usize = SerdeJson::KEYS_PER_LOOKUP;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(&Value) -> T) -> T {
        SerdeJson::with_string_node(buffer, string, f)
    }
}

impl<'a> Node<'a, Metered> for &'a Value {
    type Object = &'a Map<String, Value>;
    type Array = &'a [Value];
    type Number = &'a Number;

    fn as_object(&self) -> Option<&'a Map<String, Value>> {
        charge(1);
        Value::as_object(self)
    }

    fn as_array(&self) -> Option<&'a [Value]> {
        charge(1);
        Value::as_array(self).map(Vec::as_slice)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = Value::as_str(self);
        charge_text(text.map_or(0, str::len));
        text.map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        charge(1);
        Value::as_number(self)
    }

    fn as_boolean(&self) -> Option<bool> {
        charge(1);
        Value::as_bool(self)
    }

    fn is_null(&self) -> bool {
        charge(1);
        Value::is_null(self)
    }

    fn is_number(&self) -> bool {
        charge(1);
        Value::is_number(self)
    }

    fn json_type(&self) -> JsonType {
        charge(1);
        <Self as Node<'a, SerdeJson>>::json_type(self)
    }

    fn string_length(&self) -> Option<u64> {
        charge_text(Value::as_str(self).map_or(0, str::len));
        <Self as Node<'a, SerdeJson>>::string_length(self)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        charge_whole(expected);
        cmp::equal(self, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        charge(1);
        <Self as Node<'a, SerdeJson>>::identity(self)
    }
}

impl<'a> Object<'a, Metered> for &'a Map<String, Value> {
    type Node = &'a Value;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Map::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Value> {
        charge(1);
        Map::get(self, key)
    }

    fn members(&self) -> Members<'a> {
        Members(self.iter())
    }
}

pub(super) struct Members<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next()?;
        charge_name(name.len());
        Some((name, value))
    }
}

impl<'a> Array<'a, Metered> for &'a [Value] {
    type Node = &'a Value;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        <[Value]>::len(self)
    }

    fn elements(&self) -> Elements<'a> {
        Elements(self.iter())
    }

    fn is_unique(&self) -> bool {
        self.iter().for_each(charge_whole);
        // Hashes of these can be made to collide; each is then compared with all others.
        let colliding = self.iter().filter(|item| !hashes_well(item)).count() as u64;
        charge(colliding.saturating_mul(colliding) / 16);
        unique::is_unique(self)
    }
}

pub(super) struct Elements<'a>(slice::Iter<'a, Value>);

impl<'a> Iterator for Elements<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<&'a Value> {
        charge(1);
        self.0.next()
    }
}

/// Counts a read of a value and everything in it.
fn charge_whole(value: &Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => charge_text(text.len()),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                members.keys().for_each(|name| charge_text(name.len()));
                open.extend(members.values());
            }
            _ => {}
        }
        charge(1);
    }
}

/// Returns whether a value's hash in the validator is shared by few other values. It can be shared by many
/// for large integers, which are hashed as floating-point numbers, and for arrays and objects of them.
fn hashes_well(value: &Value) -> bool {
    /// Integers below this have exact floating-point values.
    const EXACT_F64_LIMIT: u64 = 1 << 53;

    match value {
        Value::Number(number) => {
            number.is_f64() || number.as_i64().is_some_and(|number| number.unsigned_abs() < EXACT_F64_LIMIT)
        }
        Value::Array(_) | Value::Object(_) => false,
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}
