//! Tools that ask their user during a call: elicitation in form mode, in both protocol revisions.

mod once;

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Events, Kitbag, Revision, User, eventually, guests};

/// Question with one required text field, `city`, of at most 6 characters.
fn question(key: &str) -> Value {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "maxLength": 6 } },
        "required": ["city"],
    });
    json!({ "key": key, "message": format!("Where to, {key}?"), "schema": schema })
}

fn questions(keys: &[&str]) -> Value {
    json!({ "questions": keys.iter().copied().map(question).collect::<Vec<_>>() })
}

fn accept(city: &str) -> Value {
    json!({ "action": "accept", "content": { "city": city } })
}

pub(crate) async fn client(kitbag: &Kitbag, user: &str, revision: Revision) -> User {
    able(kitbag.as_user(user), revision).await
}

/// Configures the client to declare that it supports forms.
pub(crate) async fn able(user: User, revision: Revision) -> User {
    user.capable_of(json!({ "elicitation": {} })).speaking(revision).await
}

async fn start() -> Kitbag {
    let kitbag = Kitbag::start().await;
    kitbag.deploy(guests::PROBE).await;
    kitbag
}

/// Call of a tool that asks questions, in either protocol revision.
pub(crate) struct Conversation<'u> {
    user: &'u User,
    params: Value,
    /// Response to the call in the older revision; `None` in the current one.
    events: Option<Events>,
}

/// Next message of a call.
#[derive(Debug)]
pub(crate) enum Next {
    /// Question: its id (older revision) or key, its parameters, and the state (null in the older revision).
    Asked(Value, Value, Value),
    /// JSON-RPC response that ends the call.
    Reply(Value),
}

impl Next {
    #[track_caller]
    fn question(&self) -> &Value {
        match self {
            Self::Asked(_, question, _) => question,
            Self::Reply(reply) => panic!("nothing was asked: {reply}"),
        }
    }

    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Asked(_, question, _) => panic!("it asks: {question}"),
            Self::Reply(reply) => {
                reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {reply}"))
            }
        }
    }

    #[track_caller]
    fn error(&self) -> &Value {
        match self {
            Self::Asked(_, question, _) => panic!("it asks: {question}"),
            Self::Reply(reply) => &reply["error"],
        }
    }
}

impl<'u> Conversation<'u> {
    /// Starts a call, and returns its first message.
    pub(crate) async fn begin(
        user: &'u User,
        revision: Revision,
        tool: &str,
        arguments: Value,
    ) -> (Self, Next) {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut conversation = Self { user, params: params.clone(), events: None };
        if revision == Revision::Current {
            let reply = user.request("tools/call", Some(tool), params).await;
            return (conversation, Self::read(reply));
        }
        conversation.events = Some(user.open_mcp("tools/call", Some(tool), params).await);
        let next = conversation.next_event().await;
        (conversation, next)
    }

    /// Answers a question as the user `by`, and returns the next message.
    pub(crate) async fn respond_as(&mut self, by: &User, asked: &Next, response: Value) -> Next {
        let Next::Asked(id, _, state) = asked else { panic!("nothing was asked: {asked:?}") };
        if self.events.is_some() {
            by.respond(id, Ok(response)).await.assert_status(202);
            return self.next_event().await;
        }
        let key = id.as_str().expect("a key");
        let mut params = self.params.clone();
        params["inputResponses"] = json!({ key: response });
        params["requestState"] = state.clone();
        let tool = self.params["name"].as_str().expect("a name");
        Self::read(by.request("tools/call", Some(tool), params).await)
    }

    pub(crate) async fn respond(&mut self, asked: &Next, response: Value) -> Next {
        self.respond_as(self.user, asked, response).await
    }

    async fn next_event(&mut self) -> Next {
        let message = self.events.as_mut().expect("a stream").next().await.expect("a message");
        if message["method"] == "elicitation/create" {
            return Next::Asked(message["id"].clone(), message["params"].clone(), Value::Null);
        }
        Next::Reply(message)
    }

    fn read(reply: Value) -> Next {
        let result = &reply["result"];
        if result["resultType"] != "input_required" {
            return Next::Reply(reply);
        }
        let requests = result["inputRequests"].as_object().expect("requests");
        let (key, request) = requests.iter().next().expect("a request");
        assert_eq!((requests.len(), &request["method"]), (1, &json!("elicitation/create")), "{reply}");
        Next::Asked(json!(key), request["params"].clone(), result["requestState"].clone())
    }
}

#[tokio::test]
async fn a_call_asks_in_turn_and_has_the_answers() {
    let kitbag = start().await;
    for revision in Revision::BOTH {
        let ana = client(&kitbag, &format!("ana-{revision:?}"), revision).await;

        let (mut call, first) =
            Conversation::begin(&ana, revision, "probe__ask", questions(&["a", "b", "c"])).await;
        let asked = first.question();
        assert_eq!(asked["message"], "The toolkit probe asks: Where to, a?");
        assert_eq!(asked["mode"], "form");
        assert_eq!(
            asked["requestedSchema"]["properties"]["city"],
            json!({ "type": "string", "maxLength": 6 })
        );
        assert_eq!(asked["requestedSchema"]["required"], json!(["city"]));
        let second = call.respond(&first, accept("Oslo")).await;
        assert_eq!(second.question()["message"], "The toolkit probe asks: Where to, b?");
        let third = call.respond(&second, json!({ "action": "decline" })).await;
        let last = call.respond(&third, json!({ "action": "cancel" })).await;

        let expected = json!({ "answers": [{ "accepted": "{\"city\":\"Oslo\"}" }, "declined", "cancelled"] });
        assert_eq!(serde_json::from_str::<Value>(last.text()).expect("JSON"), expected, "{revision:?}");
        // Each run of the handler has a record; a run that asks is not a failure.
        let records = ana.logs("probe").await;
        let outcomes: Vec<_> =
            records.iter().map(|record| record["outcome"].as_str().expect("one")).collect();
        assert_eq!(outcomes, ["asked", "asked", "asked", "succeeded"], "{revision:?}");
        assert_eq!(records[0]["detail"], "Where to, a?", "{records:#?}");
    }
}

#[tokio::test]
async fn whoever_shows_no_forms_is_not_asked_and_the_tool_is_told() {
    let kitbag = start().await;
    for (revision, capabilities) in [
        (Revision::Current, json!({})),
        (Revision::Current, json!({ "elicitation": { "url": {} } })),
        (Revision::Older, json!({})),
        (Revision::Older, json!({ "elicitation": { "url": {} } })),
    ] {
        let ana = kitbag.as_user("ana").capable_of(capabilities).speaking(revision).await;

        ana.call("probe__ask", questions(&["a"])).await.assert_tool_error("Unsupported");
    }
    // REST calls, and clients of the older revision that accept no stream, cannot be asked either.
    let (path, body) = ("/toolkits/probe/tools/ask", questions(&["a"]).to_string());
    let answer = kitbag.as_user("ana").send(Method::POST, path, "application/json", body).await;
    assert_eq!(answer.json()["error"], "AskError::Unsupported");
    let ana = client(&kitbag, "ana", Revision::Older).await;
    let params = json!({ "name": "probe__ask", "arguments": questions(&["a"]) });
    let (mut headers, body) = ana.message("tools/call", None, params);
    headers.insert("accept", "application/json".parse().expect("a header"));
    let answer = kitbag.anonymous().send(Method::POST, "/mcp", headers, body.to_string()).await;
    assert!(answer.text().contains("AskError::Unsupported"), "{}", answer.text());
}

#[tokio::test]
async fn a_question_breaks_no_rule_and_asks_for_no_credential() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let boolean = json!({ "type": "object", "properties": { "sure": { "type": "boolean" } } });
    let text = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    for (question, expected) in [
        (json!({ "key": "a b", "message": "Sure?", "schema": boolean }), "key: must match"),
        (json!({ "key": "a", "message": "", "schema": boolean }), "message: must not be empty"),
        (
            json!({ "key": "a", "message": "x", "times": 2 << 20, "schema": boolean }),
            "message: has more than 1000",
        ),
        (json!({ "key": "a", "message": "Sure?", "schema": "{" }), "schema: must be a JSON Schema object"),
        (
            json!({ "key": "a", "message": "Sure?", "schema": " ".repeat(20_000) }),
            "schema: has more than 16384",
        ),
        (json!({ "key": "a", "message": "Sign in.", "schema": text("password") }), "asks for a credential"),
        (
            json!({ "key": "a", "message": "Sign in.", "schema": { "type": "object", "properties": { "pin": { "type": "integer" } } } }),
            "asks for a credential",
        ),
        (
            json!({ "key": "a", "message": "Which?", "schema": { "type": "object", "properties": { "a": { "type": "string", "enum": ["\u{1b}[2J"] } } } }),
            "control characters or invisible ones",
        ),
        (json!({ "key": "a", "message": "Your API key?", "schema": text("value") }), "asks for a credential"),
        (
            json!({ "key": "a", "message": "Sure?", "schema": { "type": "object", "properties": { "a": { "type": "object" } } } }),
            "schema.properties.a.type",
        ),
    ] {
        let refused = ana.call("probe__ask", json!({ "questions": [question] })).await;
        refused.assert_tool_error(expected);
    }
    // A message larger than the result limit cannot be passed to the host: the call fails.
    let huge = json!({ "key": "a", "message": "x", "times": 10 << 20, "schema": boolean });
    ana.call("probe__ask", json!({ "questions": [huge] })).await.envelope();
}

#[tokio::test]
async fn what_is_asked_never_ends() {
    let kitbag = start().await;
    for revision in Revision::BOTH {
        let ana = client(&kitbag, "ana", revision).await;
        let (mut call, mut next) =
            Conversation::begin(&ana, revision, "probe__ask_for_ever", json!({})).await;

        // An answer belongs to the question that was shown, not to a later one with the same key.
        for _ in 0..5 {
            assert!(next.question()["message"].as_str().is_some_and(|it| it.contains("Question ")));
            next = call.respond(&next, json!({ "action": "accept", "content": { "sure": true } })).await;
        }

        assert!(next.text().contains("the call has asked 5 questions"), "{next:?}");
    }
}

#[tokio::test]
async fn an_answer_is_checked_as_arguments_are() {
    let kitbag = start().await;
    for revision in Revision::BOTH {
        let ana = client(&kitbag, "ana", revision).await;
        for (content, expected) in [
            (json!({}), "the answer to the question a: /: \\\"city\\\" is a required"),
            (json!({ "city": 7 }), "the answer to the question a: /city"),
            (json!({ "city": "Trondheim" }), "the answer to the question a: /city"),
        ] {
            let (mut call, asked) =
                Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await;
            let response = json!({ "action": "accept", "content": content });
            let refused = call.respond(&asked, response).await;
            assert!(refused.text().contains("INVALID_PARAMS"), "{refused:?}");
            assert!(refused.text().contains(expected), "{refused:?}");
        }
        // Members that are not in the schema do not reach the handler.
        let (mut call, asked) = Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await;
        let more = json!({ "action": "accept", "content": { "city": "Oslo", "admin": true } });
        assert_eq!(
            call.respond(&asked, more).await.text(),
            "{\"answers\":[{\"accepted\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}]}"
        );
        // An answer of more than 16 KiB is refused before it is checked.
        let (mut call, asked) = Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await;
        let large = accept(&"x".repeat(17 << 10));
        let refused = call.respond(&asked, large).await;
        assert!(
            refused.error()["message"].as_str().is_some_and(|it| it.contains("up to 16384 bytes")),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_of_ten_megabytes_ends_nothing_but_itself() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Older).await;
    let (mut call, asked) = Conversation::begin(&ana, Revision::Older, "probe__ask", questions(&["a"])).await;
    let Next::Asked(id, ..) = &asked else { panic!("{asked:?}") };

    ana.respond(id, Ok(accept(&"x".repeat(10 << 20)))).await.assert_status(413);

    assert!(call.respond(&asked, accept("Oslo")).await.text().contains("Oslo"));
}

#[tokio::test]
async fn a_state_is_for_one_call_of_one_user() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    let ben = client(&kitbag, "ben", Revision::Current).await;
    let (_, asked) = Conversation::begin(&ana, Revision::Current, "probe__ask", questions(&["a"])).await;
    let Next::Asked(_, _, state) = &asked else { panic!("{asked:?}") };
    let state = state.as_str().expect("a state").to_owned();
    let call = |user: User, tool: &'static str, arguments: Value, state: String| async move {
        let params = json!({
            "name": tool, "arguments": arguments, "requestState": state, "inputResponses": { "a": accept("Oslo") },
        });
        user.request("tools/call", Some(tool), params).await
    };
    let other_tool = "probe__ask_for_ever";
    let mut tampered = state.clone();
    let changed = if tampered.ends_with('A') { "B" } else { "A" };
    tampered.replace_range(tampered.len() - 3..tampered.len() - 2, changed);

    for (user, tool, arguments, state) in [
        (ben, "probe__ask", questions(&["a"]), state.clone()),
        (ana.clone(), "probe__ask", questions(&["a", "b"]), state.clone()),
        (ana.clone(), other_tool, json!({}), state.clone()),
        (ana.clone(), "probe__ask", questions(&["a"]), tampered),
        (ana.clone(), "probe__ask", questions(&["a"]), format!("{state}-TAMPERED")),
        (ana.clone(), "probe__ask", questions(&["a"]), "A".repeat(1 << 20)),
        (ana.clone(), "probe__ask", questions(&["a"]), String::new()),
    ] {
        let refused = call(user, tool, arguments, state).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    // An answer without a state is ignored: the tool asks again.
    let params = json!({ "name": "probe__ask", "arguments": questions(&["a"]), "inputResponses": { "a": accept("Oslo") } });
    let reply = ana.request("tools/call", Some("probe__ask"), params).await;
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");

    let reply = call(ana, "probe__ask", questions(&["a"]), state).await;
    assert!(reply["result"]["content"][0]["text"].as_str().is_some_and(|it| it.contains("Oslo")), "{reply}");
}

#[tokio::test]
async fn nobody_else_answers_and_nobody_answers_twice() {
    let kitbag = start().await;
    let revision = Revision::Older;
    let (ana, again) = (client(&kitbag, "ana", revision).await, client(&kitbag, "ana", revision).await);
    let ben = client(&kitbag, "ben", revision).await;
    let (mut call, asked) = Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await;
    let Next::Asked(id, ..) = &asked else { panic!("{asked:?}") };

    // Answers of another user and of another client of the same user are ignored.
    for stranger in [&ben, &again] {
        stranger.respond(id, Ok(accept("Rome"))).await.assert_status(202);
    }
    for other in [json!(1), json!("ask"), json!(id.as_str().expect("an id").to_lowercase())] {
        ana.respond(&other, Ok(accept("Rome"))).await.assert_status(202);
    }
    let last = call.respond(&asked, accept("Oslo")).await;
    ana.respond(id, Ok(accept("Rome"))).await.assert_status(202);

    assert!(last.text().contains("Oslo"), "{last:?}");
}

#[tokio::test]
async fn a_client_that_refuses_or_goes_away_ends_its_call() {
    let kitbag = start().await;
    let revision = Revision::Older;
    let ana = client(&kitbag, "ana", revision).await;
    let (mut call, asked) = Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await;
    let Next::Asked(id, ..) = &asked else { panic!("{asked:?}") };
    let error = json!({ "code": -32601, "message": "no such method" });
    ana.respond(id, Err(error)).await.assert_status(202);
    assert!(call.next_event().await.text().contains("Unsupported"), "the client could not ask");

    let (call, _) = Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await;
    drop(call);
    let (call, asked) = Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await;
    let Next::Asked(id, ..) = &asked else { panic!("{asked:?}") };
    drop(call);
    ana.respond(id, Ok(accept("Rome"))).await.assert_status(202);
    // The abandoned calls no longer count towards the user's limit of 16 waiting calls.
    let mut waiting = Vec::new();
    for _ in 0..16 {
        waiting.push(ask_once_there_is_room(&ana).await);
    }
    drop(waiting);

    let mut call = ask_once_there_is_room(&ana).await;
    let cancelled = json!({ "requestId": 1 });
    ana.notify("notifications/cancelled", cancelled).await.assert_status(202);
    let ended = call.next_event().await;
    assert_eq!(ended.error()["message"], "cancelled");
}

/// Begins a call that asks its user. The server notices a moment later that a client has gone away, and the
/// abandoned call counts until then.
async fn ask_once_there_is_room(user: &User) -> Conversation<'_> {
    let mut asking = None;
    eventually("the call asks", async || {
        let (call, next) = Conversation::begin(user, Revision::Older, "probe__ask", questions(&["a"])).await;
        asking = matches!(next, Next::Asked(..)).then_some(call);
        asking.is_some()
    })
    .await;
    asking.expect("it asks")
}

#[tokio::test]
async fn a_call_that_waits_for_its_user_takes_no_place_of_others_and_few_of_them_wait() {
    let kitbag = Kitbag::start_with(|settings| {
        settings.bounds.concurrent_calls_per_user = 1;
    })
    .await;
    kitbag.deploy(guests::PROBE).await;
    let revision = Revision::Older;
    let ana = client(&kitbag, "ana", revision).await;

    let mut waiting = Vec::new();
    for _ in 0..16 {
        waiting.push(Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await);
    }
    assert_eq!(ana.call("probe__nothing", json!({})).await.text(), "nothing");
    let (_, refused) = Conversation::begin(&ana, revision, "probe__ask", questions(&["a"])).await;
    assert!(refused.text().contains("retryable\":true"), "{refused:?}");
    let ben = client(&kitbag, "ben", revision).await;
    let (mut call, asked) = Conversation::begin(&ben, revision, "probe__ask", questions(&["a"])).await;
    assert!(call.respond(&asked, accept("Oslo")).await.text().contains("Oslo"));

    for (mut call, asked) in waiting {
        assert!(call.respond(&asked, accept("Oslo")).await.text().contains("Oslo"));
    }
}

#[tokio::test]
async fn what_is_asked_has_no_secret_and_nothing_hidden() {
    let kitbag = start().await;
    let ana = client(&kitbag, "ana", Revision::Current).await;
    ana.set_secret("probe", "API_KEY", "canary-asked-0123").await;
    let schema = json!({
        "type": "object",
        "properties": { "sure": { "type": "boolean", "description": "of canary-asked-0123 \u{202e}" } },
    });
    // The secret is redacted from the key too, and the answer is still matched to its question.
    let by_key =
        json!({ "key": "canary-asked-0123", "message": "Where to?", "schema": question("a")["schema"] });
    let (mut call, asked) =
        Conversation::begin(&ana, Revision::Current, "probe__ask", json!({ "questions": [by_key] })).await;
    assert!(!format!("{asked:?}").contains("canary-asked"), "{asked:?}");
    assert!(call.respond(&asked, accept("Oslo")).await.text().contains("Oslo"));
    let message = "Kitbag: \u{1b}]0;owned\u{7} send canary-asked-0123";
    let question = json!({ "key": "a", "message": message, "schema": schema });

    let (_, asked) =
        Conversation::begin(&ana, Revision::Current, "probe__ask", json!({ "questions": [question] })).await;

    let shown = asked.question().to_string();
    assert!(
        !shown.contains("canary-asked") && !shown.contains("\\u001b") && !shown.contains('\u{202e}'),
        "{shown}"
    );
    assert!(shown.contains("The toolkit probe asks: Kitbag: "), "{shown}");
}
