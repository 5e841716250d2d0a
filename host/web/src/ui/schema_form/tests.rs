use kitbag_manifest::schema::{MAX_VALUES, Schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::*;
use crate::tools;
use crate::ui::form::Form;

/// A schema, the text typed into its form, and the expected arguments.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    name: String,
    schema: Value,
    /// Texts by field name; `null` for the defaults only. The field `json` holds all arguments.
    typed: Option<Map<String, Value>>,
    arguments: Map<String, Value>,
    /// Whether the schema allows arguments without a field.
    #[serde(default)]
    has_more: bool,
}

fn corpus() -> Vec<Case> {
    serde_json::from_str(include_str!("corpus.json")).expect("the corpus is valid")
}

fn typed(fields: &Map<String, Value>) -> Form {
    let text = |value: &Value| value.as_str().expect("fields hold text").to_owned();
    Form::of(fields.iter().map(|(name, value)| (name.clone(), text(value))).collect())
}

fn rows(schema: &Value) -> Vec<Row> {
    SchemaForm::of(schema).rows(&Form::default(), &Mistakes::new())
}

fn names(form: &SchemaForm) -> Vec<String> {
    form.fields.iter().map(Field::name).collect()
}

fn arguments(case: &Case, form: &SchemaForm) -> Map<String, Value> {
    let Some(fields) = &case.typed else {
        return form.arguments(&form.defaults()).expect("defaults fit their fields");
    };
    if let Some(Value::String(text)) = fields.get("json") {
        return tools::arguments(text.as_bytes()).expect("it is JSON");
    }
    let names = names(form);
    for field in fields.keys() {
        assert!(names.contains(field), "{}: no field {field} in {names:?}", case.name);
    }
    form.arguments(&typed(fields)).unwrap_or_else(|mistakes| panic!("{}: {mistakes:?}", case.name))
}

#[test]
fn every_schema_of_the_corpus_gives_arguments_that_its_validator_accepts() {
    let corpus = corpus();
    assert!(corpus.len() > 40, "only {} schemas", corpus.len());

    for case in corpus {
        let form = SchemaForm::of(&case.schema);
        let found = arguments(&case, &form);

        assert_eq!(found, case.arguments, "{}", case.name);
        assert_eq!(form.has_more, case.has_more, "{}", case.name);
        let schema = Schema::compile(&case.schema).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(schema.violations(&Value::Object(found)), [""; 0], "{}", case.name);
    }
}

#[test]
fn no_two_fields_of_a_form_share_a_name_or_an_id() {
    for case in corpus() {
        let form = SchemaForm::of(&case.schema);
        let ids = rows(&case.schema).into_iter().map(|row| row.id).collect();
        for mut all in [names(&form), ids] {
            let count = all.len();
            all.sort();
            all.dedup();
            assert_eq!(all.len(), count, "{}: {all:?}", case.name);
        }
    }
}

#[test]
fn what_cannot_be_sent_is_said_beside_its_field() {
    let schema = json!({ "type": "object", "properties": {
        "count": { "type": "integer" }, "unit": { "enum": ["c", "f"] }, "yes": { "type": "boolean" },
        "numbers": { "type": "array", "items": { "type": "number" } }, "any": {}, "text": { "type": "string" },
    } });
    let form = SchemaForm::of(&schema);
    let wrong = json!({
        "/count": "1.5", "/unit": "\"k\"", "/yes": "maybe", "/numbers": "1\nmany", "/any": "{", "/text": "fits",
    });
    let sent = typed(wrong.as_object().expect("an object"));

    let mistakes = form.arguments(&sent).expect_err("some are wrong");

    assert_eq!(mistakes.keys().collect::<Vec<_>>(), ["/any", "/count", "/numbers", "/unit", "/yes"]);
    assert_eq!(mistakes["/any"], "This is not JSON at line 1, column 1.");
    let rows = form.rows(&sent, &mistakes);
    assert_eq!(rows.iter().filter(|row| row.mistake.is_some()).count(), 5);
    assert!(rows.iter().any(|row| row.value == "1.5"), "what was typed is kept");
}

#[test]
fn the_json_of_a_form_has_a_bounded_number_of_values() {
    let form = SchemaForm::of(&json!({ "type": "object", "properties": { "a": {}, "b": {} } }));
    let zeros = |count| format!("[{}0]", "0,".repeat(count));
    let sent = |a, b| Form::of(vec![("/a".to_owned(), zeros(a)), ("/b".to_owned(), zeros(b))]);

    assert!(form.arguments(&sent(20_000, 20_000)).is_ok());
    for (a, b, place) in [(MAX_VALUES, 0, "/a"), (30_000, 30_000, "/b")] {
        let mistakes = form.arguments(&sent(a, b)).expect_err("they are too many");
        assert_eq!(mistakes.keys().collect::<Vec<_>>(), [place]);
        assert!(mistakes[place].contains("more than 50000 values"), "{}", mistakes[place]);
    }
}

#[test]
fn a_default_that_contradicts_its_schema_is_not_filled_in() {
    for property in [
        json!({ "type": "integer", "default": 5.5 }),
        json!({ "type": "integer", "default": 1e300 }),
        json!({ "type": "number", "default": "many" }),
        json!({ "type": "boolean", "default": "true" }),
        json!({ "type": "string", "default": 7 }),
        json!({ "type": "string", "default": [] }),
        json!({ "type": "string", "default": null }),
        json!({ "enum": ["c", "f"], "default": "k" }),
    ] {
        let form = SchemaForm::of(&json!({ "properties": { "a": property }, "required": ["a"] }));

        assert_eq!(form.arguments(&form.defaults()), Ok(Map::new()), "{property}");
    }
}

/// Schemas that are vague or unsatisfiable.
const ODD_SCHEMAS: &str = r##"[
    null, true, 7, "x", [], {}, { "$ref": "#" }, { "$ref": 7 }, { "$ref": "#/%FF" }, { "$ref": "#/properties/~" },
    { "type": 7 }, { "type": [] }, { "type": ["null"] }, { "type": "null" }, { "type": "boolean" },
    { "enum": [] }, { "enum": "x" }, { "enum": [null, 1.5, ["a"], ""] }, { "anyOf": [] }, { "oneOf": {} },
    { "allOf": [{}] }, { "const": null }, { "const": [[]] }, { "type": "array" },
    { "type": "array", "items": false }, { "type": "array", "items": { "enum": [] } },
    { "type": "array", "items": { "$ref": "#" } }, { "type": "array", "items": { "type": "string" }, "minItems": -1 },
    { "type": "array", "items": { "type": "number" } }, { "type": "object", "properties": [] },
    { "properties": { "": {} }, "required": "a" }, { "properties": { "a": { "$ref": "#" } }, "required": [7, "a"] },
    { "type": "integer", "minimum": 1e300, "exclusiveMaximum": -9223372036854775808, "multipleOf": 0 },
    { "type": "integer", "exclusiveMinimum": 18446744073709551615, "maximum": "x" },
    { "type": "string", "minLength": 18446744073709551615, "maxLength": 0.5, "format": [], "pattern": "(" },
    { "title": 7, "description": [], "examples": {}, "additionalProperties": 7, "patternProperties": 7 }
]"##;

#[test]
fn every_schema_gives_a_form_and_every_text_an_answer() {
    let schemas: Vec<Value> = serde_json::from_str(ODD_SCHEMAS).expect("it is JSON");
    let names = ["", "a", "\"", "[]", "a[0]", "/", "~", "%", "\r\n", "\0", "{{a}}", "\u{202e}"];
    let defaults =
        json!([null, true, 7, 5.0, 1e300, "", "\n", "x", [], [[]], ["a\nb"], [1, "a"], {}, { "a": [] }]);

    for schema in &schemas {
        check_form(schema);
        let all: Map<String, Value> = names.iter().map(|name| ((*name).to_owned(), schema.clone())).collect();
        check_form(&json!({ "type": "object", "properties": all, "required": names }));
        for default in defaults.as_array().expect("a list") {
            let mut property = schema.clone();
            if let Value::Object(keywords) = &mut property {
                keywords.insert("default".to_owned(), default.clone());
            }
            check_form(&json!({ "type": "object", "properties": { "a": property }, "required": ["a"] }));
        }
    }
}

/// Fills a form with its defaults, which must be accepted, and with odd texts, which may be refused.
fn check_form(schema: &Value) {
    let form = SchemaForm::of(schema);
    let filled = form.arguments(&form.defaults());
    assert!(filled.is_ok(), "{schema}: {filled:?}");
    let names = names(&form);
    for text in ["", " ", "\n", "\r", "null", "-", "1e999", "-.", "é", "[", "\0", "\"", "true"] {
        let form = SchemaForm::of(schema);
        let sent = Form::of(names.iter().map(|name| (name.clone(), text.to_owned())).collect());
        let mistakes = form.arguments(&sent).err().unwrap_or_default();
        assert_eq!(form.rows(&sent, &mistakes).len(), rows(schema).len());
    }
}

#[test]
fn a_mistake_within_a_list_is_shown_at_the_list() {
    let schema = json!({ "type": "object", "properties": {
        "tag": { "type": "string" }, "tags": { "type": "array", "items": { "type": "string" } },
    } });
    let mistakes = Mistakes::from([("/tags/1".to_owned(), "is odd".to_owned())]);

    let rows = SchemaForm::of(&schema).rows(&Form::default(), &mistakes);

    let shown: Vec<_> = rows.iter().map(|row| (row.field.name(), row.mistake.as_deref())).collect();
    assert_eq!(shown, [("/tag".to_owned(), None), ("/tags".to_owned(), Some("is odd"))]);
}

#[test]
fn only_what_must_be_there_is_insisted_on() {
    let schema = json!({ "type": "object", "required": ["id", "note", "inner", "text"], "properties": {
        "id": { "type": "integer" }, "note": { "type": ["integer", "null"] }, "other": { "type": "integer" },
        "inner": { "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" } } },
        "outer": { "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" } } },
        "text": { "type": "string" },
    } });

    let insisted = rows(&schema).into_iter().filter(Row::must_be_filled).map(|row| row.field.name());

    // An empty text can be sent as JSON.
    assert_eq!(insisted.collect::<Vec<_>>(), ["/id", "/inner", "/text"]);
}

#[test]
fn bounds_are_said_in_words() {
    for (schema, expected) in [
        (
            json!({ "type": "string", "minLength": 1, "maxLength": 20 }),
            "length at least 1; length at most 20",
        ),
        (json!({ "type": "string", "minLength": 3, "pattern": "^a" }), "length at least 3; matches ^a"),
        (json!({ "type": "string", "pattern": "a".repeat(201), "format": "ipv4" }), "format ipv4"),
        (json!({ "type": "integer", "minimum": 1, "maximum": 5 }), "at least 1; at most 5"),
        (json!({ "type": "number", "exclusiveMinimum": 0, "multipleOf": 5 }), "more than 0; a multiple of 5"),
        (json!({ "type": "number", "maximum": 0.5, "format": "double" }), "at most 0.5"),
        (json!({ "type": "integer", "default": 7, "examples": [8, 9] }), "default: 7; example: 8"),
        (json!({ "type": "string", "default": "", "examples": [] }), ""),
    ] {
        let form = json!({ "properties": { "a": schema } });
        assert_eq!(rows(&form)[0].field.rules, expected, "{schema}");
    }
}

/// Bytes of all texts in a form.
fn size(rows: &[Row]) -> usize {
    let of = |Row { field, .. }: &Row| {
        let input = match &field.input {
            Input::Choice(choices) => {
                choices.iter().map(|it| it.to_string().len() + label(it).len()).sum::<usize>()
            }
            Input::Json(schema) => schema.len(),
            Input::Line { .. } | Input::Lines => 0,
        };
        let description = field.description.as_ref().map_or(0, String::len);
        field.name().len() + field.title.len() + field.rules.len() + input + description
    };
    rows.iter().map(of).sum()
}

#[test]
fn a_form_is_bounded_whatever_its_schema() {
    let many: Map<String, Value> = (0..10_000)
        .map(|index| (format!("p{index}"), json!({ "type": "string", "description": "d".repeat(5000) })))
        .collect();
    let doubling: Map<String, Value> = (0..60)
        .map(|index| {
            let next = json!({ "$ref": format!("#/$defs/d{}", index + 1) });
            (format!("d{index}"), json!({ "properties": { "a": next, "b": next } }))
        })
        .collect();
    let long_enum: Vec<_> = (0..100_000).map(|index| format!("choice {index}")).collect();
    let enums: Map<String, Value> =
        (0..100).map(|index| (format!("e{index}"), json!({ "enum": long_enum[..500] }))).collect();
    let hops: Map<String, Value> = (0..1000)
        .map(|index| (format!("h{index}"), json!({ "$ref": format!("#/$defs/h{}", index + 1) })))
        .collect();
    let large: Map<String, Value> = (0..200)
        .map(|index| (format!("l{index}"), json!({ "anyOf": [{ "const": "x".repeat(100_000) }, {}] })))
        .collect();

    for schema in [
        json!({ "type": "object", "properties": many }),
        json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": doubling }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": doubling }),
        json!({ "type": "object", "properties": { "a": { "type": "string", "enum": long_enum } } }),
        json!({ "type": "object", "properties": enums }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/h0" } }, "$defs": hops }),
        json!({ "type": "object", "properties": large }),
        json!({ "type": "object", "properties": { "k".repeat(100_000): { "const": "c".repeat(1_000_000) } } }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/properties/a" }, "b": { "$ref": "#/x/y" } } }),
    ] {
        let rows = rows(&schema);
        assert!(rows.len() <= 200 && size(&rows) < 1 << 20, "{}: {}", rows.len(), size(&rows));
    }
}

#[test]
fn a_long_enumeration_of_texts_is_typed() {
    let long: Vec<_> = (0..10_000).map(|index| format!("choice {index}")).collect();
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "enum": long } } });
    let form = SchemaForm::of(&schema);

    assert_eq!(form.fields[0].rules, "one of a long list");
    let sent = Form::of(vec![("/a".to_owned(), "choice 7".to_owned())]);
    assert_eq!(Value::Object(form.arguments(&sent).expect("it fits")), json!({ "a": "choice 7" }));
}
