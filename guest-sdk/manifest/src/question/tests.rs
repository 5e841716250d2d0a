use serde_json::json;

use super::*;

fn form(properties: &Value) -> String {
    json!({ "type": "object", "properties": properties }).to_string()
}

fn check(properties: &Value) -> Result<Question, Problems> {
    Question::check("city", "Where to?", &form(properties))
}

fn refused(properties: &Value) -> String {
    check(properties).expect_err("it breaks a rule").to_string()
}

#[test]
fn each_field_of_a_form_is_allowed() {
    let schema = json!({
        "type": "object",
        "title": "Trip",
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 9, "default": "a", "title": "Name" },
            "mail": { "type": "string", "format": "email" },
            "age": { "type": "integer", "minimum": 0, "maximum": 9, "default": 3 },
            "score": { "type": "number", "minimum": 0.5, "default": 9.5 },
            "sure": { "type": "boolean", "default": true },
            "one": { "type": "string", "enum": ["a", "b"], "default": "b" },
            "old": { "type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"] },
            "titled": { "type": "string", "oneOf": [{ "const": "a", "title": "A" }] },
            "many": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "minItems": 1 },
            "manyTitled": { "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }] } },
        },
        "required": ["name"],
    });

    let question = Question::check("trip.1", "Where to?", &schema.to_string()).expect("it keeps the rules");

    assert_eq!(Value::Object(question.schema), schema);
}

#[test]
fn a_form_without_fields_is_a_yes_or_a_no() {
    assert!(check(&json!({})).is_ok());
    assert_eq!(check(&json!({})).expect("a question").accept(Map::new()), Ok(Map::new()));
}

#[test]
fn what_is_not_a_flat_form_is_refused_where_it_is() {
    for (properties, expected) in [
        (json!({ "a": 1 }), "schema.properties.a: must be an object"),
        (json!({ "a": {} }), "schema.properties.a.type: must be string, number"),
        (json!({ "a": { "type": "object" } }), "schema.properties.a.type: must be string, number"),
        (
            json!({ "a": { "type": "array", "items": { "type": "object" } } }),
            "schema.properties.a.items: must have",
        ),
        (json!({ "a": { "type": "array" } }), "schema.properties.a.items: must have"),
        (
            json!({ "a": { "type": "string", "pattern": "^a" } }),
            "schema.properties.a.pattern: is not part of a form",
        ),
        (
            json!({ "a": { "type": "string", "format": "password" } }),
            "schema.properties.a.format: must be one of",
        ),
        (json!({ "a": { "$ref": "#" } }), "schema.properties.a.type"),
        (
            json!({ "a": { "type": "string", "enum": [] } }),
            "schema.properties.a.enum: must be 1 to 100 texts",
        ),
        (
            json!({ "a": { "type": "string", "enum": ["a"], "enumNames": [] } }),
            "must have a name for each choice",
        ),
        (
            json!({ "a": { "type": "string", "oneOf": [{ "const": 1, "title": "a" }] } }),
            "schema.properties.a.oneOf",
        ),
        (
            json!({ "a": { "type": "string", "minLength": -1 } }),
            "schema.properties.a.minLength: must be a whole",
        ),
        (
            json!({ "a": { "type": "integer", "minimum": 0.5 } }),
            "schema.properties.a.minimum: must be an integer",
        ),
        (
            json!({ "a": { "type": "integer", "default": "x" } }),
            "schema.properties.a.default: must be an integer",
        ),
        (json!({ "a": { "type": "boolean", "default": 1 } }), "a default does not fit its field: /a"),
        (json!({ "a": { "type": "string", "title": 1 } }), "schema.properties.a.title: must be a text"),
    ] {
        let problems = refused(&properties);
        assert!(problems.contains(expected), "{properties}: {problems}");
    }
}

#[test]
fn what_is_answered_as_it_is_has_nothing_hidden() {
    for (properties, path) in [
        (json!({ "a\u{1b}]0;x": { "type": "boolean" } }), "schema.properties.a"),
        (json!({ "a": { "type": "string", "enum": ["\u{1b}[2J"] } }), "schema.properties.a.enum"),
        (
            json!({ "a": { "type": "string", "oneOf": [{ "const": "\u{202e}a", "title": "A" }] } }),
            "schema.properties.a.oneOf",
        ),
        (json!({ "a": { "type": "string", "default": "a\u{202e}b" } }), "schema.properties.a.default"),
        (
            json!({ "a": { "type": "array", "items": { "type": "string", "enum": ["\u{200b}"] } } }),
            "schema.properties.a.items.enum",
        ),
    ] {
        let problems = refused(&properties);
        assert!(problems.contains(path) && problems.contains("invisible"), "{properties}: {problems}");
    }
    let emoji = json!({ "a": { "type": "string", "enum": ["👩\u{200d}💻", "❤\u{fe0f}"] } });
    assert!(check(&emoji).is_ok());
    let long = json!({ "a": { "type": "boolean", "title": "a".repeat(MAX_TITLE_CHARS + 1) } });
    assert!(refused(&long).contains("schema.properties.a.title: has more than 100"));
}

#[test]
fn fields_are_in_the_authors_order() {
    let schema = r#"{"type":"object","properties":{"z":{"type":"boolean"},"a":{"type":"boolean"},"m":{"type":"boolean"}}}"#;
    assert_eq!(Question::check("a", "Sure?", schema).expect("a question").order, ["z", "a", "m"]);
}

#[test]
fn key_message_and_schema_have_bounds() {
    let schema = form(&json!({ "a": { "type": "boolean" } }));
    let long = "a".repeat(MAX_MESSAGE_CHARS + 1);
    let large = format!("{schema}{}", " ".repeat(MAX_SCHEMA_BYTES));
    let fields: Map<_, _> =
        (0..=MAX_FIELDS).map(|at| (format!("f{at}"), json!({ "type": "boolean" }))).collect();
    for (key, message, schema, expected) in [
        ("", "Sure?", &*schema, "key: must match"),
        ("a b", "Sure?", &schema, "key: must match"),
        (&long, "Sure?", &schema, "key: must match"),
        ("a", " ", &schema, "message: must not be empty"),
        ("a", &long, &schema, "message: has more than 1000 characters"),
        ("a", "Sure?", &large, "schema: has more than 16384 bytes"),
        ("a", "Sure?", "[]", "schema: must be a JSON Schema object"),
        ("a", "Sure?", "{", "schema: must be a JSON Schema object"),
        (
            "a",
            "Sure?",
            r#"{"type":"object","properties":{"a":{"type":"boolean"}},"required":["b"]}"#,
            "schema.required[0]",
        ),
        (
            "a",
            "Sure?",
            r#"{"type":"object","properties":{"a":{"type":"boolean"}},"additionalProperties":true}"#,
            "schema.additionalProperties",
        ),
        ("a", "Sure?", &form(&Value::Object(fields)), "schema.properties: must have at most 20 fields"),
    ] {
        let problems = Question::check(key, message, schema).expect_err("it breaks a rule").to_string();
        assert!(problems.contains(expected), "{expected}: {problems}");
    }
    assert!(Question::check("a", &"é".repeat(MAX_MESSAGE_CHARS), &schema).is_ok());
}

#[test]
fn a_form_never_asks_for_a_credential() {
    let text = json!({ "type": "string" });
    for name in [
        "password",
        "apiKey",
        "API_KEY",
        "access-token",
        "clientSecret",
        "pin",
        "otp",
        "tokens",
        "раssword",
        "РАSSWОRD",
    ] {
        assert!(refused(&json!({ name: text })).contains("asks for a credential"), "{name}");
    }
    for field in [
        json!({ "type": "string", "title": "Your Password" }),
        json!({ "type": "string", "description": "The API key of the service" }),
        json!({ "type": "string", "title": "Ｐａｓｓｗｏｒｄ" }),
    ] {
        assert!(refused(&json!({ "value": field })).contains("asks for a credential"), "{field}");
    }
    for message in [
        "Enter your pass word.",
        "Enter your p a s s w o r d!",
        "P-a-s-s-w-o-r-d?",
        "Your one-time code, please",
        "The twelve words of your recovery phrase",
        "Type the verification codes",
        "Ihr Kennwort?",
        "Wie lautet Ihr Passwort",
        "Saisissez votre mot de passe",
        "Introduzca su contraseña",
        "Introduzca su contrasen\u{303}a",
        "Digite sua senha",
        "Inserisci il codice monouso",
        "Voer uw wachtwoord in",
        "Podaj hasło",
        "Ange ditt lösenord",
        "Şifrenizi girin",
        "Nhập mật khẩu",
        "Введите пароль",
        "Сообщите нам одноразовый код",
        "Введіть свій пароль",
        "请输入您的密码",
        "請輸入驗證碼",
        "パスワードを入力してください",
        "비밀번호를 입력하세요",
        "أدخل كلمة المرور",
        "अपना पासवर्ड दर्ज करें",
    ] {
        let by_message = Question::check("a", message, &form(&json!({ "value": text })));
        assert!(by_message.is_err(), "{message}");
        let field = json!({ "type": "string", "title": message });
        assert!(refused(&json!({ "value": field })).contains("asks for a credential"), "{message}");
    }

    // A question may mention a credential without asking for it.
    for (message, properties) in [
        ("Reset the password of Ana?", json!({ "sure": { "type": "boolean" } })),
        ("Which token is to be revoked?", json!({ "which": { "type": "string", "enum": ["ci", "deploy"] } })),
        ("Who is the secretary? Bypass code review?", json!({ "who": text })),
        (
            "How many tokens? Which pin on the map?",
            json!({ "compassKeypad": text, "count": { "type": "integer" } }),
        ),
        ("Create the issue “Fix password reset”?", json!({})),
        ("Quelle est la capitale? Qual è la parola? ¿Cuál es la palabra clave?", json!({ "ville": text })),
        (
            "Какой город? 哪个城市? 어느 도시?",
            json!({ "город": text, "city": { "type": "string", "title": "城市" } }),
        ),
        ("Is this a past word or a p.m. pass?", json!({ "word": text })),
        (
            "Where do you keep the spinach?",
            json!({ "shopping": { "type": "string" }, "tokenizer": { "type": "string" } }),
        ),
    ] {
        assert!(Question::check("a", message, &form(&properties)).is_ok(), "{message}");
    }
}

#[test]
fn an_answer_is_checked_as_arguments_are() {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "maxLength": 4 }, "sure": { "type": "boolean" } },
        "required": ["city"],
    });
    let question = Question::check("city", "Where to?", &schema.to_string()).expect("it keeps the rules");
    let accept = |answer: Value| question.accept(answer.as_object().cloned().expect("an object"));

    assert_eq!(
        accept(json!({ "city": "Oslo", "more": 1 })).map(Value::Object),
        Ok(json!({ "city": "Oslo" }))
    );
    for (answer, expected) in [
        (json!({}), "/: \"city\""),
        (json!({ "city": "Bergen" }), "/city"),
        (json!({ "city": "Oslo", "sure": "yes" }), "/sure"),
    ] {
        let violations = accept(answer).expect_err("it does not fit");
        assert!(violations[0].starts_with(expected), "{violations:?}");
    }
}
