use serde_json::{Map, json};

use super::*;
use crate::schema::Schema;
use crate::schema::budget::Budget;
use crate::schema::meter;

/// Creates `$defs` in which each definition is made from the next one; the last is `last`.
fn chain(steps: usize, step: impl Fn(&Value) -> Value, last: Value) -> Value {
    let definitions = (0..steps).map(|index| {
        let next = json!({ "$ref": format!("#/$defs/{}", index + 1) });
        (index.to_string(), step(&next))
    });
    Value::Object(definitions.chain([(steps.to_string(), last)]).collect::<Map<_, _>>())
}

fn doubling(steps: usize) -> Value {
    chain(steps, |next| json!({ "anyOf": [next, next] }), json!({ "type": "string" }))
}

fn refusal(schema: &Value) -> String {
    admit(schema).expect_err("it is too costly")
}

#[test]
fn values_are_counted_up_to_a_limit() {
    assert_eq!(values(&json!({ "a": [1, 2], "b": {} }), 100), Some(5));
    assert_eq!(values(&json!(vec![0; 1000]), 100), None);
}

#[test]
fn references_that_double_at_each_step_are_refused_with_cost_and_budget() {
    for steps in [15, 40, 2000] {
        let schema = json!({ "properties": { "a": { "$ref": "#/$defs/0" } }, "$defs": doubling(steps) });
        let message = refusal(&schema);
        assert!(message.contains("allowed") || message.contains("may"), "{message}");
    }
    let schema = json!({ "properties": { "a": { "$ref": "#/$defs/0" } }, "$defs": doubling(14) });
    let message = refusal(&schema);
    assert!(message.contains("10000") && message.contains("evaluations"), "{message}");
    assert!(admit(&json!({ "properties": { "a": { "$ref": "#/$defs/0" } }, "$defs": doubling(8) })).is_ok());
}

#[test]
fn every_way_to_apply_a_schema_to_the_same_value_counts() {
    let steps: [fn(&Value) -> Value; 8] = [
        |next| json!({ "allOf": [next, next] }),
        |next| json!({ "oneOf": [next, next] }),
        |next| json!({ "not": next, "if": next }),
        |next| json!({ "if": next, "then": next, "else": next }),
        |next| json!({ "dependentSchemas": { "a": next, "b": next } }),
        |next| json!({ "$ref": next["$ref"], "anyOf": [next] }),
        |next| json!({ "$dynamicRef": next["$ref"], "not": next }),
        |next| json!({ "$ref": next["$ref"], "$recursiveRef": next["$ref"] }),
    ];
    for step in steps {
        let schema = json!({ "$ref": "#/$defs/0", "$defs": chain(15, step, json!({})) });
        assert!(refusal(&schema).contains("evaluations"), "{schema}");
    }
}

#[test]
fn alternatives_that_multiply_level_by_level_are_refused() {
    let level = |next: &Value| {
        let way = |name: &str| json!({ "properties": { "a": next }, "required": [name] });
        json!({ "anyOf": [way("x"), way("y")] })
    };
    let schema = |steps| json!({ "$ref": "#/$defs/0", "$defs": chain(steps, level, json!({})) });

    assert!(refusal(&schema(40)).contains("each level"));
    assert!(admit(&schema(10)).is_ok());
    for items in ["items", "contains", "unevaluatedItems"] {
        let level =
            |next: &Value| json!({ "anyOf": [{ items: next }, { items: next }, { "not": { items: next } }] });
        assert!(
            refusal(&json!({ "$ref": "#/$defs/0", "$defs": chain(30, level, json!({})) })).contains("level")
        );
    }
}

#[test]
fn a_schema_that_leads_back_to_itself_for_the_same_value_is_refused() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "anyOf": [{ "type": "string" }, { "$ref": "#" }] }),
        json!({ "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": { "not": { "$ref": "#/$defs/a" } } } }),
        json!({ "allOf": [{ "$ref": "#me" }], "$anchor": "me" }),
        json!({ "allOf": [{ "$ref": "https://a.example/b#me" }], "$anchor": "me", "$id": "https://a.example/b" }),
        json!({ "allOf": [{ "$dynamicRef": "#me" }], "$dynamicAnchor": "me" }),
        json!({ "allOf": [{ "$ref": "#/all%4Ff/0" }] }),
        json!({ "properties": { "a": { "$id": "b", "not": { "$ref": "#" } } } }),
        json!({ "properties": { "a": { "$id": "b", "not": { "$ref": "b#/not" } } } }),
    ] {
        assert!(refusal(&schema).contains("itself"), "{schema}");
    }
}

#[test]
fn a_declaration_that_would_unfold_without_end_is_refused() {
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        let double = |next: &Value| json!({ "allOf": [next, next] });
        let schema = json!({ keyword: false, "$ref": "#/$defs/0", "$defs": chain(30, double, json!({})) });
        assert!(refusal(&schema).contains("evaluations"), "{keyword}");
    }
    // Little of it applies to one value, but all of it would be compiled repeatedly.
    let rest: Map<String, Value> = (0..4500).map(|index| (format!("p{index}"), json!({}))).collect();
    let level =
        |next: &Value| json!({ "allOf": [next, { "properties": rest }], "unevaluatedProperties": false });
    let schema = json!({ "$ref": "#/$defs/0", "$defs": chain(4, level, json!({})) });
    assert!(refusal(&schema).contains("validators"));
}

#[test]
fn definitions_that_are_resources_of_their_own_are_few() {
    let step = |index: usize| {
        json!({ "$id": format!("n{index}"), "properties": {
            "a": { "$ref": format!("n{}", index + 1) }, "b": { "$ref": format!("n{}", index + 2) } } })
    };
    let schema = |count: usize| {
        let definitions: Map<String, Value> =
            (0..count + 2).map(|index| (index.to_string(), step(index))).collect();
        let ends =
            json!({ "x": { "$id": format!("n{}", count + 2) }, "y": { "$id": format!("n{}", count + 3) } });
        json!({ "$ref": "n0", "$defs": definitions, "properties": ends })
    };

    assert_eq!(admit(&schema(0)), Ok(Vec::new()));
    assert!(refusal(&schema(20)).contains("validators"));
}

#[test]
fn what_cannot_be_followed_is_refused() {
    for (schema, words) in [
        (json!({ "$ref": "#elsewhere" }), "not part"),
        (json!({ "$ref": "#/$defs/absent" }), "not part"),
        (json!({ "$ref": "https://evil.example/schema.json" }), "not part"),
        (json!({ "properties": { "a": { "$id": "https://a.example/b", "type": "string" } } }), "$id"),
        (
            json!({ "properties": { "a": { "$id": "b", "$ref": "#/$defs/c" } }, "$defs": { "c": {} } }),
            "not part",
        ),
        (
            json!({ "properties": { "a": { "$schema": "http://json-schema.org/draft-04/schema#" } } }),
            "$schema",
        ),
    ] {
        assert!(refusal(&schema).contains(words), "{schema}");
    }
}

#[test]
fn no_name_of_a_schema_passes_for_a_published_one() {
    let within = |id: &str| {
        let next = |index: usize| json!({ "$ref": format!("{id}#/$defs/{index}") });
        let definitions: Map<_, _> = (0..40)
            .map(|index| (index.to_string(), json!({ "anyOf": [next(index + 1), next(index + 1)] })))
            .chain([("40".to_owned(), json!({ "type": "string" }))])
            .collect();
        json!({ "type": "object", "$id": id, "properties": { "a": next(0) }, "$defs": definitions })
    };
    let leads_back = json!({
        "type": "object",
        "$dynamicAnchor": "meta",
        "properties": { "a": { "$ref": "https://json-schema.org/draft/2020-12/schema" } },
    });

    for schema in [within("https://json-schema.org/x"), within("http://json-schema.org/x"), leads_back] {
        assert!(refusal(&schema).contains("no $id that is not a plain name"), "{schema}");
    }
    let plain = json!({ "properties": { "a": { "$ref": "https://json-schema.org/draft/2020-12/schema" } } });
    assert!(admit(&plain).is_ok());
}

#[test]
fn patterns_of_names_are_few() {
    let patterns = |count: usize| {
        let names: Map<_, _> = (0..count).map(|name| (format!("^{name}.*x"), json!({}))).collect();
        json!({ "type": "object", "patternProperties": names })
    };

    assert!(refusal(&patterns(33)).contains("33 patterns in patternProperties"));
    let schema = Schema::compile(&patterns(2)).expect("two are allowed");
    assert_eq!(schema.violations(&json!({ "name": 1 })), Vec::<String>::new());
    assert!(
        schema.violations(&json!({ "a".repeat(700_000): 1 }))[0].contains("a name of more than 256 bytes")
    );
}

#[test]
fn a_schema_with_too_many_values_is_refused() {
    assert!(refusal(&json!({ "enum": vec![0; 30_000] })).contains("20000"));
}

#[test]
fn schemas_that_contain_themselves_are_admitted() {
    let expression = |name: &str| {
        json!({
            "type": "object",
            "properties": { "kind": { "const": name }, "left": { "$ref": "#/$defs/e" }, "right": { "$ref": "#/$defs/e" } },
            "required": ["kind", "left"],
            "additionalProperties": false,
        })
    };
    let variants: Vec<Value> = (0..10).map(|index| expression(&format!("k{index}"))).collect();
    for schema in [
        json!({ "properties": { "name": {}, "children": { "type": "array", "items": { "$ref": "#" } } } }),
        json!({ "$defs": { "json": { "anyOf": [
            { "type": ["string", "number", "boolean", "null"] },
            { "type": "array", "items": { "$ref": "#/$defs/json" } },
            { "type": "object", "additionalProperties": { "$ref": "#/$defs/json" } },
        ] } }, "additionalProperties": { "$ref": "#/$defs/json" } }),
        json!({ "properties": { "e": { "$ref": "#/$defs/e" } }, "$defs": { "e": { "oneOf": variants } } }),
        json!({ "$dynamicAnchor": "node", "unevaluatedProperties": false,
            "properties": { "children": { "items": { "$dynamicRef": "#node" } } } }),
        json!({ "$id": "https://a.example/tree", "properties": { "next": { "$ref": "https://a.example/tree" } } }),
        json!({ "properties": { "tree": { "$id": "T0", "properties": { "nodes": { "items": { "$ref": "T0" } } } } } }),
        json!({ "properties": { "schema": { "$ref": "https://json-schema.org/draft/2020-12/schema" } } }),
    ] {
        assert_eq!(admit(&schema), Ok(Vec::new()), "{schema}");
    }
}

#[test]
fn names_that_look_like_keywords_are_names() {
    let schema = json!({ "properties": { "$id": { "type": "string" }, "$ref": { "type": "string" }, "not": {} },
        "required": ["$ref"], "enum": [{ "$ref": "#/nowhere" }], "default": { "$id": "x" } });

    assert_eq!(admit(&schema), Ok(Vec::new()));
}

/// Maximum reads of one value by one evaluation, for the small schemas and values of these tests.
const READS_PER_EVALUATION: u64 = 60;

/// Returns the estimated maximum number of evaluations of one value.
fn estimate(schema: &Value) -> u64 {
    let nodes = graph::read(schema).expect("it can be followed").nodes;
    let evaluations = evaluations(&nodes);
    evaluations[0].max(visits(&nodes, &evaluations)[0])
}

/// Returns how many steps the validator really takes.
fn steps(schema: &Value, value: &Value) -> u64 {
    let schema = Schema::compile(schema).unwrap_or_else(|error| panic!("{error}: {schema}"));
    let budget = Budget { steps: u64::MAX / 2, ..Budget::whole() };
    let check = || {
        let _ = schema.validator.is_valid(value);
        budget.steps - meter::steps_left()
    };
    meter::within(&budget, usize::MAX, check).expect("it has enough steps")
}

#[track_caller]
fn assert_estimate_holds(schema: &Value, value: &Value) {
    let most = READS_PER_EVALUATION
        * estimate(schema).saturating_mul(values(value, 1000).expect("it is small") as u64);
    let taken = steps(schema, value);
    assert!(taken <= most, "{taken} steps, {most} estimated: {value} against {schema}");
}

#[test]
fn no_check_takes_more_than_was_estimated_however_a_schema_multiplies() {
    let steps: [fn(&Value) -> Value; 9] = [
        |next| json!({ "allOf": [next, next] }),
        |next| json!({ "anyOf": [{ "allOf": [next, false] }, next] }),
        |next| json!({ "oneOf": [next, next] }),
        |next| json!({ "not": { "not": next }, "if": next, "then": next, "else": next }),
        |next| json!({ "dependentSchemas": { "a": next, "b": next } }),
        |next| json!({ "allOf": [next], "unevaluatedProperties": { "type": "object" } }),
        |next| json!({ "anyOf": [next, next], "unevaluatedProperties": true }),
        |next| json!({ "oneOf": [next], "unevaluatedItems": false }),
        |next| json!({ "properties": { "a": next, "b": next }, "anyOf": [{ "properties": { "a": next } }, { "additionalProperties": next }] }),
    ];
    let deep = (0..8).fold(json!({ "b": [1, "x"] }), |inner, _| json!({ "a": inner, "b": [inner] }));
    let deep = deep.pointer("/a/a/a/a").expect("it is deeper").clone();
    for step in steps {
        for depth in 1..6 {
            for last in [
                json!({ "type": "string" }),
                json!({ "type": "object" }),
                json!(true),
                json!({ "items": false }),
            ] {
                let schema =
                    json!({ "type": "object", "$ref": "#/$defs/0", "$defs": chain(depth, step, last) });
                if admit(&schema).is_ok() {
                    assert_estimate_holds(&schema, &deep);
                }
            }
        }
    }
}

#[test]
fn no_check_takes_more_than_was_estimated_for_schemas_and_values_at_random() {
    let mut dice = Dice(42);
    for _ in 0..500 {
        let schema = json!({ "type": "object", "properties": { "a": random_schema(&mut dice, 4) }, "allOf": [random_schema(&mut dice, 4)] });
        let value = json!({ "a": random_value(&mut dice, 4), "b": random_value(&mut dice, 3) });
        if admit(&schema).is_ok() {
            assert_estimate_holds(&schema, &value);
        }
    }
}

/// A pseudo-random number generator with a fixed seed (an LCG with Knuth's constants).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn random_schema(dice: &mut Dice, depth: u64) -> Value {
    if depth == 0 {
        return match dice.roll(5) {
            0 => json!(true),
            1 => json!(false),
            2 => json!({ "type": "string" }),
            3 => json!({ "enum": [1, "x", { "a": 1 }] }),
            _ => json!({ "pattern": "^[a-z]+$", "maxLength": 3 }),
        };
    }
    let mut keywords = Map::new();
    for _ in 0..=dice.roll(3) {
        let [one, two] = [random_schema(dice, depth - 1), random_schema(dice, depth - 1)];
        let (keyword, value) = match dice.roll(14) {
            0 => ("anyOf", json!([one, two])),
            1 => ("allOf", json!([one, two])),
            2 => ("oneOf", json!([one, two])),
            3 => ("not", one),
            4 => ("if", one),
            5 => ("then", one),
            6 => ("properties", json!({ "a": one, "b": two })),
            7 => ("patternProperties", json!({ "^a": one, "b": two })),
            8 => ("additionalProperties", one),
            9 => ("unevaluatedProperties", one),
            10 => ("items", one),
            11 => ("contains", one),
            12 => ("unevaluatedItems", one),
            _ => ("uniqueItems", json!(true)),
        };
        keywords.insert(keyword.to_owned(), value);
    }
    Value::Object(keywords)
}

fn random_value(dice: &mut Dice, depth: u64) -> Value {
    match dice.roll(if depth == 0 { 3 } else { 7 }) {
        0 => json!(dice.roll(3)),
        1 => json!("abc"),
        2 => Value::Null,
        3 | 4 => json!([random_value(dice, depth - 1), random_value(dice, depth - 1)]),
        _ => json!({ "a": random_value(dice, depth - 1), "b": random_value(dice, depth - 1) }),
    }
}
