//! Account page: a user's own sessions and the programs that may act for them.

use crate::harness::sign_in::access_tokens_expire;
use crate::harness::{Answer, Kitbag, SignIn, Terminal, Visitor};

/// Returns the action paths that contain `part` of the forms on a page.
fn forms(page: &Answer, part: &str) -> Vec<String> {
    let actions = page.text().split("action=\"").skip(1).filter_map(|rest| rest.split('"').next());
    actions.filter(|path| path.contains(part)).map(str::to_owned).collect()
}

#[tokio::test]
async fn users_see_and_end_their_own_sessions_alone() {
    let kitbag = Kitbag::start().await;
    let (here, there) = (Visitor::sign_in(&kitbag, "ana").await, Visitor::sign_in(&kitbag, "ana").await);
    let ben = Visitor::sign_in(&kitbag, "ben").await;

    let page = here.get("/ui/account").await.assert_status(200);
    let of_ana = forms(&page, "/ui/account/sessions/");
    assert_eq!(of_ana.len(), 3, "two sessions, and all of them: {}", page.text());
    assert_eq!(page.text().matches("this one").count(), 1);
    assert!(page.text().contains("Test Browser") && page.text().contains("aria-current=\"page\""));
    let cookie = here.cookie().expect("a session").split_once('=').expect("a pair").1;
    assert!(!page.text().contains(cookie), "a page shows no cookie");
    assert_eq!(forms(&ben.get("/ui/account").await, "/ui/account/sessions/").len(), 2);

    for path in of_ana.iter().filter(|path| *path != "/ui/account/sessions/end") {
        ben.post(path, &[]).await.assert_status(303);
    }
    here.get("/ui/").await.assert_status(200);
    there.get("/ui/").await.assert_status(200);

    let text = page.text();
    let other = text.split("<li").find(|row| row.contains("/end\"") && !row.contains("this one"));
    let other = other.and_then(|row| row.split("action=\"").nth(1)?.split('"').next()).expect("its form");
    let ended = here.post(other, &[]).await.assert_status(303);
    assert_eq!(ended.header("location"), Some("/ui/account?done=session-ended"));
    there.get("/ui/").await.assert_status(303);
    let other_page = here.sending(&[("sec-fetch-site", "cross-site")]);
    other_page.post("/ui/account/sessions/end", &[]).await.assert_status(403);
    here.get("/ui/account?done=session-ended").await.assert_status(200);

    let again = Visitor::sign_in(&kitbag, "ana").await;
    let out = here.post("/ui/account/sessions/end", &[]).await.assert_status(303);
    assert!(out.header("set-cookie").expect("the cookie is cleared").contains("Max-Age=0"));
    for browser in [&here, &again] {
        browser.get("/ui/").await.assert_status(303);
    }
    ben.get("/ui/").await.assert_status(200);
}

#[tokio::test]
async fn a_program_that_is_revoked_gets_no_more_tokens() {
    let at = SignIn::local().await;
    let terminal = Terminal::at(at.url());
    terminal.login("ana").await;
    let (ana, ben) = (Visitor::sign_in(&at.kitbag, "ana").await, Visitor::sign_in(&at.kitbag, "ben").await);

    let page = ana.get("/ui/account").await.assert_status(200);
    assert!(page.text().contains("Kitbag command line"), "{}", page.text());
    let [revoke] = forms(&page, "/ui/account/clients/").try_into().expect("one program");
    assert!(forms(&ben.get("/ui/account").await, "/ui/account/clients/").is_empty());
    ben.post(&revoke, &[]).await.assert_status(303);
    access_tokens_expire().await;
    terminal.run(&["toolkit", "list"]).await.succeeded();

    let revoked = ana.post(&revoke, &[]).await.assert_status(303);
    assert_eq!(revoked.header("location"), Some("/ui/account?done=client-revoked"));
    access_tokens_expire().await;
    terminal.run(&["toolkit", "list"]).await.assert_failed("kitbag login");
    assert!(forms(&ana.get("/ui/account").await, "/ui/account/clients/").is_empty());
}
