//! Tests the replies of the table without a server.

use std::collections::BTreeMap;

use kitbag_toolkit::prelude::*;
use serde_json::value::RawValue;

use super::toolkit;

#[derive(Deserialize)]
struct Case<'a> {
    tool: String,
    arguments: Value,
    /// A list to add to the arguments: its name, an item, and how often the item is repeated.
    repeat: Option<(String, Value, usize)>,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    #[serde(default)]
    config: BTreeMap<String, Value>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

impl Case<'_> {
    fn call(&self) -> Call {
        let mut arguments = self.arguments.clone();
        if let Some((name, item, count)) = &self.repeat {
            arguments[name] = vec![item.clone(); *count].into();
        }
        let call = Call::new(&self.tool).args(arguments);
        let call = self.secrets.iter().fold(call, |call, (name, value)| call.secret(name, value));
        self.config.iter().fold(call, |call, (key, value)| call.config(key, value.clone()))
    }
}

#[test]
fn every_reply_of_the_table_is_the_same_without_a_server() {
    let cases: Vec<Case<'_>> =
        serde_json::from_str(include_str!("../../../replies.json")).expect("a list of cases");
    let mut differences = Vec::new();

    // Without a server, a call of a tool that does not exist panics and has no reply.
    for case in cases.iter().filter(|case| case.result.is_some()) {
        let expected = case.result.map(RawValue::get).expect("it has a result");
        let found = dispatch(&toolkit(), case.call()).to_call_result();
        if found != expected {
            differences
                .push(format!("{} {}\n  found:  {found}\n  listed: {expected}", case.tool, case.arguments));
        }
    }

    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
#[should_panic(expected = "has no tool \"nothing\"")]
fn a_tool_that_does_not_exist_is_a_mistake_of_the_test() {
    dispatch(&toolkit(), Call::new("nothing"));
}
