//! Rules for `prompts` and `resources`.

use std::collections::HashSet;

use super::fields::{MAX_LISTED_NAME_LENGTH, is_tool_name_byte, not_blank};
use crate::offers::UriTemplate;
use crate::{Problems, PromptArgument, PromptDefinition, ResourceDefinition, ToolkitDefinition, media_type};

/// Maximum number of prompts of one toolkit, and of resources.
const MAX_OFFERS: usize = 100;
/// Maximum number of arguments of one prompt.
const MAX_ARGUMENTS: usize = 20;
/// Maximum length of an argument's name, in bytes.
const MAX_ARGUMENT_NAME_LENGTH: usize = 64;
/// Maximum number of completion values for one argument: as many as MCP returns.
const MAX_VALUES: usize = 100;
/// Maximum length of a completion value, in bytes.
const MAX_VALUE_BYTES: usize = 500;
/// Maximum length of a title or a description, in bytes.
const MAX_TEXT_BYTES: usize = 4096;

pub(super) fn prompts(definition: &ToolkitDefinition, problems: &mut Problems) {
    let names = definition.prompts.iter().map(|prompt| prompt.name.as_str());
    if !list("prompts", "prompt", &definition.id, names, problems) {
        return;
    }
    for (index, prompt) in definition.prompts.iter().enumerate() {
        let path = format!("prompts[{index}]");
        texts(&path, prompt.title.as_deref(), Some(&prompt.description), problems);
        arguments(&path, prompt, problems);
    }
}

fn arguments(path: &str, prompt: &PromptDefinition, problems: &mut Problems) {
    if prompt.arguments.len() > MAX_ARGUMENTS {
        problems.add(format!("{path}.arguments"), format!("has more than {MAX_ARGUMENTS} arguments"));
        return;
    }
    let mut seen = HashSet::new();
    for (index, argument) in prompt.arguments.iter().enumerate() {
        let path = format!("{path}.arguments[{index}]");
        let PromptArgument { name, title, description, values, completes, required: _ } = argument;
        if !is_name(name) || name.len() > MAX_ARGUMENT_NAME_LENGTH {
            problems.add(
                format!("{path}.name"),
                format!("must match [a-zA-Z0-9_-]+, with at most {MAX_ARGUMENT_NAME_LENGTH} characters"),
            );
        }
        if !seen.insert(name) {
            problems.add(format!("{path}.name"), format!("{name:?} is the name of another argument too"));
        }
        texts(&path, title.as_deref(), description.as_deref(), problems);
        proposals(&path, values, *completes, problems);
    }
}

pub(super) fn resources(definition: &ToolkitDefinition, problems: &mut Problems) {
    let names = definition.resources.iter().map(|resource| resource.name.as_str());
    if !list("resources", "resource", &definition.id, names, problems) {
        return;
    }
    let mut shapes = HashSet::new();
    for (index, resource) in definition.resources.iter().enumerate() {
        let path = format!("resources[{index}]");
        texts(&path, resource.title.as_deref(), Some(&resource.description), problems);
        match UriTemplate::parse(&resource.uri) {
            Ok(template) => {
                if !shapes.insert(template.shape()) {
                    problems.add(format!("{path}.uri"), "fits the same URIs as that of another resource");
                }
                variables(&path, resource, &template, problems);
            }
            Err(message) => problems.add(format!("{path}.uri"), message),
        }
        if let Some(media_type) = &resource.media_type
            && !media_type::is_valid(media_type)
        {
            problems.add(format!("{path}.mediaType"), "must be a media type such as text/markdown");
        }
    }
}

fn variables(path: &str, resource: &ResourceDefinition, template: &UriTemplate<'_>, problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (index, variable) in resource.variables.iter().enumerate() {
        let path = format!("{path}.variables[{index}]");
        if !template.variables().any(|name| name == variable.name) {
            problems.add(format!("{path}.name"), "is no variable of the resource's uri");
        }
        if !seen.insert(&variable.name) {
            problems.add(format!("{path}.name"), "is there twice");
        }
        proposals(&path, &variable.values, variable.completes, problems);
    }
}

/// Checks the number and the names of prompts or resources. Returns `false` if there are too many to check
/// each.
fn list<'a>(
    field: &str,
    what: &str,
    toolkit_id: &str,
    names: impl ExactSizeIterator<Item = &'a str>,
    problems: &mut Problems,
) -> bool {
    if names.len() > MAX_OFFERS {
        problems.add(field, format!("has {}, and {MAX_OFFERS} are allowed", names.len()));
        return false;
    }
    let mut seen = HashSet::new();
    for (index, name) in names.enumerate() {
        let path = format!("{field}[{index}].name");
        if !is_name(name) {
            problems.add(path, "must match [a-zA-Z0-9_-]+");
        } else if toolkit_id.len() + "__".len() + name.len() > MAX_LISTED_NAME_LENGTH {
            let message = format!("{toolkit_id}__{name} is longer than {MAX_LISTED_NAME_LENGTH} characters");
            problems.add(path, message);
        } else if !seen.insert(name) {
            problems.add(path, format!("{name:?} is the name of another {what} too"));
        }
    }
    true
}

fn texts(path: &str, title: Option<&str>, description: Option<&str>, problems: &mut Problems) {
    for (field, text) in [("title", title), ("description", description)] {
        let Some(text) = text else { continue };
        let path = format!("{path}.{field}");
        not_blank(&path, text, problems);
        if text.len() > MAX_TEXT_BYTES {
            problems.add(path, format!("is longer than {MAX_TEXT_BYTES} bytes"));
        }
    }
}

fn proposals(path: &str, values: &[String], completes: bool, problems: &mut Problems) {
    let path = format!("{path}.values");
    let distinct: HashSet<_> = values.iter().collect();
    if completes && !values.is_empty() {
        problems.add(path, "are not used where `completes` is set: leave out one of them");
    } else if values.len() > MAX_VALUES {
        problems.add(path, format!("has {}, and {MAX_VALUES} are allowed", values.len()));
    } else if distinct.len() < values.len() {
        problems.add(path, "a value is listed twice");
    } else if values.iter().any(|value| value.is_empty() || value.len() > MAX_VALUE_BYTES) {
        problems.add(path, format!("must have from 1 to {MAX_VALUE_BYTES} bytes each"));
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_tool_name_byte)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn problems(offers: &Value) -> Vec<String> {
        let mut definition = json!({
            "id": "books", "name": "Books", "description": "Finds books.", "icon": "📚", "version": "1.0.0",
            "tools": [{ "name": "find", "description": "Finds a book.", "inputSchema": { "type": "object" } }],
        });
        for (name, value) in offers.as_object().expect("an object") {
            definition[name] = value.clone();
        }
        let definition = crate::parse(&definition.to_string()).expect("its shape is right");
        let checked = crate::validate(definition);
        checked.err().map_or_else(Vec::new, |found| found.0.iter().map(ToString::to_string).collect())
    }

    fn prompt(name: &str) -> Value {
        json!({ "name": name, "description": "Says it." })
    }

    fn resource(name: &str, uri: &str) -> Value {
        json!({ "name": name, "description": "A list.", "uri": uri })
    }

    #[test]
    fn a_declaration_may_have_prompts_and_resources() {
        assert_eq!(
            problems(&json!({
                "prompts": [{
                    "name": "review", "title": "Review", "description": "Asks for a review.",
                    "arguments": [
                        { "name": "book", "required": true, "completes": true },
                        { "name": "tone", "description": "How.", "values": ["kind", "strict"] },
                    ],
                }],
                "resources": [
                    resource("all", "books"),
                    {
                        "name": "book", "description": "A book.", "uri": "books/{isbn}", "mediaType": "text/markdown",
                        "variables": [{ "name": "isbn", "completes": true }],
                    },
                ],
            })),
            [""; 0]
        );
    }

    #[test]
    fn what_is_wrong_with_an_offer_is_told_with_its_path() {
        let long = "x".repeat(5000);
        let expected = [
            (json!({ "prompts": [prompt("a b")] }), "prompts[0].name: must match [a-zA-Z0-9_-]+"),
            (
                json!({ "prompts": [prompt("a"), prompt("a")] }),
                "prompts[1].name: \"a\" is the name of another prompt too",
            ),
            (
                json!({ "prompts": [{ "name": "a", "description": " " }] }),
                "prompts[0].description: must not be empty",
            ),
            (
                json!({ "prompts": [{ "name": "a", "description": long }] }),
                "prompts[0].description: is longer than 4096 bytes",
            ),
            (
                json!({ "prompts": [{ "name": "a", "description": "b", "arguments": [{ "name": "x" }, { "name": "x" }] }] }),
                "prompts[0].arguments[1].name: \"x\" is the name of another argument too",
            ),
            (
                json!({ "prompts": [{ "name": "a", "description": "b", "arguments": [{ "name": "x", "values": ["1"], "completes": true }] }] }),
                "prompts[0].arguments[0].values: are not used where `completes` is set: leave out one of them",
            ),
            (
                json!({ "resources": [resource("a", "/etc")] }),
                "resources[0].uri: must be like issues/{number}",
            ),
            (
                json!({ "resources": [resource("a", "x/{b}"), resource("b", "x/{c}")] }),
                "resources[1].uri: fits the same URIs as that of another resource",
            ),
            (
                json!({ "resources": [{ "name": "a", "description": "b", "uri": "c", "mediaType": "text" }] }),
                "resources[0].mediaType: must be a media type such as text/markdown",
            ),
            (
                json!({ "resources": [{ "name": "a", "description": "b", "uri": "c", "variables": [{ "name": "d" }] }] }),
                "resources[0].variables[0].name: is no variable of the resource's uri",
            ),
            (json!({ "id": "documents" }), "id: is where users' own documents are: choose another"),
        ];
        for (offers, expected) in expected {
            let found = problems(&offers);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(expected), "{found:?}");
        }
    }

    #[test]
    fn ten_thousand_offers_are_one_problem() {
        let prompts: Vec<_> = (0..10_000).map(|index| prompt(&format!("p{index}"))).collect();
        let resources: Vec<_> = (0..10_000).map(|index| resource(&format!("r{index}"), "same")).collect();

        assert_eq!(problems(&json!({ "prompts": prompts })), ["prompts: has 10000, and 100 are allowed"]);
        assert_eq!(
            problems(&json!({ "resources": resources })),
            ["resources: has 10000, and 100 are allowed"]
        );
        let values: Vec<_> = (0..101).map(|index| index.to_string()).collect();
        let argument = json!([{ "name": "x", "values": values }]);
        assert_eq!(
            problems(&json!({ "prompts": [{ "name": "a", "description": "b", "arguments": argument }] })),
            ["prompts[0].arguments[0].values: has 101, and 100 are allowed"]
        );
    }
}
