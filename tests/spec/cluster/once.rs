//! What may be used once is used once, also by two processes at the same time.

use futures::future::join_all;
use serde_json::json;
use tokio::process::Command;
use tokio::time::sleep;

use super::{Cluster, Member, OPERATOR};
use crate::audit::TokenEndpoint;
use crate::harness::{Answer, Http, Refresh, Revision, ScriptedProvider, User, Visitor, Wat, guests};

const ROUNDS: usize = 10;
/// Simultaneous requests to each process.
const REQUESTS: usize = 3;

/// Sends the same request several times to both processes at once.
async fn race(pair: &[Member; 2], request: impl AsyncFn(Http, usize) -> Answer) -> Vec<Answer> {
    let requests = (0..2 * REQUESTS).map(|number| request(pair[number % 2].http(), number));
    join_all(requests).await
}

/// Asserts that one answer has the status `good`, and all others `refused`. Returns the index of that one.
#[track_caller]
fn assert_one(answers: &[Answer], good: u16, refused: u16) -> usize {
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    let done = statuses.iter().filter(|status| **status == good).count();
    let others = statuses.iter().filter(|status| **status == refused).count();
    assert_eq!((done, done + others), (1, answers.len()), "{statuses:?}");
    statuses.iter().position(|status| *status == good).expect("it is one of them")
}

/// Starts two processes that sign browsers in with `provider`.
async fn with_pages(provider: &ScriptedProvider) -> (Cluster, [Member; 2]) {
    let cluster = Cluster::new().await;
    let configure = |command: &mut Command| {
        command.env("KITBAG_ISSUER", provider.issuer()).env("KITBAG_WEB_CLIENT_ID", "pages");
        command.env("KITBAG_ALLOW_PRIVATE_RANGES", "127.0.0.0/8");
    };
    let pair = [cluster.join_with("0", configure).await, cluster.join_with("1", configure).await];
    (cluster, pair)
}

/// Signs `user` in on the first process.
async fn signed_in(provider: &ScriptedProvider, pair: &[Member; 2], user: &str) -> Visitor {
    let (mut visitor, state) = Visitor::with_http(pair[0].http()).begins_sign_in("/ui/").await;
    let path = format!("/ui/signin/callback?{}", provider.response(user, &state));
    let arrived = visitor.get(&path).await.assert_status(303);
    visitor.keep_cookie(&arrived);
    visitor
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_link_to_a_secret_sets_it_once() {
    let provider = ScriptedProvider::start().await;
    let (_cluster, pair) = with_pages(&provider).await;
    let of = |name: &str| User::new(pair[0].http(), &provider.token(pair[0].base_url(), name));
    of(OPERATOR).deploy(guests::NEEDS_SECRET.bytes()).await.assert_status(201);
    let client = of("ana").capable_of(json!({ "elicitation": { "url": {} } }));
    let ana = client.speaking(Revision::Current).await;
    let visitor = signed_in(&provider, &pair, "ana").await;

    for round in 0..ROUNDS {
        let link = ana.link().await;
        let path = &link[url::Position::BeforePath..];
        let page = visitor.get(path).await.assert_status(200).text().to_owned();
        let reach = page.split("name=\"reach\" value=\"").nth(1).and_then(|it| it.split('"').next());
        let reach = reach.unwrap_or_default();
        let answers = race(&pair, async |http, number| {
            let value = number.to_string();
            visitor.through(http).post(path, &[("reach", reach), ("value", &value)]).await
        });
        let done = assert_one(&answers.await, 200, 404);

        let said = ana.call("needy__need", json!({})).await.text().to_owned();
        assert_eq!(said, format!("1 bytes: {done}"), "round {round}");
        ana.delete("/toolkits/needy/secrets/API_KEY").await.assert_status(204);
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_sign_in_with_the_provider_begins_one_session() {
    let provider = ScriptedProvider::start().await;
    let (_cluster, pair) = with_pages(&provider).await;

    for _ in 0..ROUNDS {
        let (visitor, state) = Visitor::with_http(pair[0].http()).begins_sign_in("/ui/").await;
        // This provider accepts a code as often as it is presented.
        let path = format!("/ui/signin/callback?{}", provider.response("ana", &state));
        let answers = race(&pair, async |http, _| visitor.through(http).get(&path).await).await;
        assert_one(&answers, 303, 400);
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn a_session_is_renewed_by_one_process() {
    let provider = ScriptedProvider::start().await;
    let (_cluster, pair) = with_pages(&provider).await;
    provider.set_lifetime(1);
    provider.set_refresh(Refresh::For("ana"));
    let visitor = signed_in(&provider, &pair, "ana").await;

    for round in 0..ROUNDS {
        sleep(std::time::Duration::from_millis(1_100)).await;
        // Long enough for all requests of the round.
        provider.set_lifetime(if round + 1 < ROUNDS { 1 } else { 60 });
        let before = provider.requests("/token").len();
        let answers = race(&pair, async |http, _| visitor.through(http).get("/ui/account").await).await;
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status.as_u16()).collect();
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");

        let mut used: Vec<_> = provider.requests("/token")[before..]
            .iter()
            .map(|request| request.fields["refresh_token"].clone())
            .collect();
        let requests = used.len();
        used.dedup();
        assert!(requests == used.len() && requests > 0, "a refresh token was used twice: {used:?}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn an_account_is_connected_by_one_answer_of_its_provider() {
    let provider = ScriptedProvider::start().await;
    let (_cluster, pair) = with_pages(&provider).await;
    let tokens = TokenEndpoint::start().await;
    let host = tokens.host();
    let further = json!({ "auth": [{
        "type": "oauth2_authorization_code", "apiHost": host,
        "authorizationUrl": format!("http://{host}/auth"), "tokenUrl": format!("http://{host}/token"),
        "clientIdSecret": "CLIENT_ID",
    }] });
    let toolkit =
        Wat { egress: &[&host], secrets: &["KEY"], further: &further.to_string(), ..Wat::default() };
    let operator = User::new(pair[0].http(), &provider.token(pair[0].base_url(), OPERATOR));
    operator.deploy(toolkit.component()).await.assert_status(201);
    operator.put("/toolkits/wat/secrets/CLIENT_ID?for-everyone=true", "client").await.assert_status(200);
    let visitor = signed_in(&provider, &pair, "una").await;

    for _ in 0..ROUNDS {
        let seen = [("owner", OPERATOR), ("version", "1.0.0")];
        let leave = visitor.post("/ui/toolkits/wat/account/connect", &seen).await.assert_status(200);
        let page = leave.text().to_owned();
        let state = page.split("state=").nth(1).and_then(|it| it.split(['"', '&']).next()).expect("a state");
        let back = format!("/ui/toolkits/wat/auth/callback?code=c&state={state}");
        let from_elsewhere = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "document")];
        let answers =
            race(&pair, async |http, _| visitor.sending(&from_elsewhere).through(http).get(&back).await);
        let places: Vec<_> =
            answers.await.iter().map(|it| it.header("location").map(str::to_owned)).collect();
        let connected = "/ui/toolkits/wat?done=account-connected";
        let done = places.iter().filter(|place| place.as_deref() == Some(connected)).count();
        assert_eq!(done, 1, "{places:?}");
    }
}

#[tokio::test]
#[ignore = "needs a database server"]
async fn an_upload_is_deployed_once() {
    let (cluster, pair) = Cluster::start::<2>().await;
    let operators = [0, 1].map(|process| cluster.operator(&pair[process]));

    for round in 1..=3 {
        let version = format!("{round}.0.0");
        let component = Wat { version: &version, ..Wat::default() }.component();
        let review = operators[0].review(component).await;
        let path = format!("/uploads/{}/deploy", review["digest"].as_str().expect("a digest"));
        let reviewed = json!({ "live": review["live"], "manifestDigest": review["manifestDigest"] });

        let deploys = (0..2 * REQUESTS).map(|number| operators[number % 2].post(&path, &reviewed));
        let statuses: Vec<_> = join_all(deploys).await.iter().map(|it| it.status.as_u16()).collect();

        let done = statuses.iter().filter(|status| **status < 300).count();
        let refused = statuses.iter().filter(|status| matches!(**status, 404 | 409)).count();
        assert_eq!((done, done + refused), (1, statuses.len()), "{statuses:?}");
        let deployed = operators[1].get("/audit?act=toolkit.deployed").await.json_lines();
        assert_eq!(deployed.len(), round, "{deployed:?}");
    }
}
