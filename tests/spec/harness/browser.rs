//! A user's browser.

use std::collections::HashMap;

use http::{HeaderMap, HeaderValue, Method, header};
use url::Url;
use url::form_urlencoded::Serializer;

use super::{Answer, Http, sign_in_code};

/// More redirects than any sign-in needs.
const MAX_PAGES: usize = 20;

/// Browser that stores cookies, follows redirects and submits forms.
#[derive(Default)]
pub(crate) struct Browser {
    /// Names and values of cookies for each server (authority), oldest first.
    cookies: HashMap<String, Vec<(String, String)>>,
    person: Person,
}

/// User of the browser.
#[derive(Default, PartialEq, Eq)]
enum Person {
    /// The owner of the test servers, who knows their sign-in codes.
    #[default]
    Owner,
    /// A user of another account of the machine, who does not know them.
    OtherAccount,
}

impl Browser {
    /// Opens a page, signs in as `user`, consents in every form, and returns the first page without a
    /// form: the client's, if the sign-in succeeds.
    pub(crate) async fn sign_in(&mut self, page: &str, user: &str) -> (Url, Answer) {
        self.answer(page, &[("user", user), ("decision", "allow")]).await
    }

    /// Like [`Self::sign_in`], but stops before opening a page with the path `stop`, and returns its URL.
    pub(crate) async fn sign_in_until(&mut self, page: &str, user: &str, stop: &str) -> Url {
        let (url, answer) = self.go(page, &[("user", user), ("decision", "allow")], Some(stop)).await;
        assert!(answer.is_none(), "it ended at {url}");
        url
    }

    /// Opens a page without following redirects.
    pub(crate) async fn open(&mut self, url: &Url) -> Answer {
        self.fetch(url, None).await
    }

    /// `Cookie` header of requests to a server.
    pub(crate) fn cookies(&self, url: &Url) -> String {
        let jar = self.cookies.get(url.authority()).into_iter().flatten();
        jar.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    /// Sets a cookie (`name=value`) for a server.
    pub(crate) fn plant(&mut self, url: &Url, cookie: &str) {
        let (name, value) = cookie.split_once('=').expect("a pair");
        let jar = self.cookies.entry(url.authority().to_owned()).or_default();
        store(jar, name, value);
    }

    /// Opens the logout page of a provider, and signs out there.
    pub(crate) async fn sign_out(&mut self, page: &str) -> Answer {
        self.answer(page, &[("logout", "yes")]).await.1
    }

    /// Like [`Self::sign_in`], but denies consent.
    pub(crate) async fn refuse(&mut self, page: &str) -> (Url, Answer) {
        self.answer(page, &[("user", ""), ("decision", "deny")]).await
    }

    /// Creates the browser of a user who does not know the sign-in codes of the test servers.
    pub(crate) fn without_sign_in_codes() -> Self {
        Self { person: Person::OtherAccount, ..Self::default() }
    }

    fn knows_codes(&self) -> bool {
        self.person == Person::Owner
    }

    async fn answer(&mut self, page: &str, fields: &[(&str, &str)]) -> (Url, Answer) {
        let (url, answer) = self.go(page, fields, None).await;
        (url, answer.expect("it stops nowhere"))
    }

    async fn go(&mut self, page: &str, fields: &[(&str, &str)], stop: Option<&str>) -> (Url, Option<Answer>) {
        let mut url: Url = page.parse().expect("a page's URL");
        let mut form = None;
        for _ in 0..MAX_PAGES {
            if stop == Some(url.path()) {
                return (url, None);
            }
            let answer = self.fetch(&url, form.take()).await;
            if answer.status.is_redirection() {
                url = url.join(answer.header("location").expect("a way to go")).expect("a URL");
                continue;
            }
            let html = String::from_utf8_lossy(&answer.body).into_owned();
            let Some(action) = between(&html, "<form method=\"post\" action=\"", "\"") else {
                return (url, Some(answer));
            };
            url = url.join(action).expect("a URL");
            let hidden = html.split("<input type=\"hidden\" name=\"").skip(1).map(|input| {
                let name = input.split('"').next().expect("a name");
                (name, between(input, "value=\"", "\"").expect("a value"))
            });
            let code = html.contains("name=\"code\"").then(|| sign_in_code(&url)).flatten();
            let code = code.filter(|_| self.knows_codes()).map(|code| ("code", code));
            let mut filled = Serializer::new(String::new());
            filled.extend_pairs(hidden).extend_pairs(fields).extend_pairs(code);
            form = Some(filled.finish());
        }
        panic!("{page} leads nowhere");
    }

    async fn fetch(&mut self, url: &Url, form: Option<String>) -> Answer {
        let jar = self.cookies.entry(url.authority().to_owned()).or_default();
        let mut headers = HeaderMap::new();
        if !jar.is_empty() {
            let cookies: Vec<_> = jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
            headers.insert(header::COOKIE, cookies.join("; ").parse().expect("cookies are ASCII"));
        }
        let method = if form.is_some() { Method::POST } else { Method::GET };
        if form.is_some() {
            let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
            headers.insert(header::CONTENT_TYPE, form_type);
        }
        let http = Http::new(url.clone());
        let answer = http.send(method, url.as_str(), headers, form.unwrap_or_default()).await;
        for line in answer.headers.get_all(header::SET_COOKIE) {
            let line = line.to_str().expect("cookies are ASCII");
            let (name, value) = line.split(';').next().expect("a pair").split_once('=').expect("a pair");
            store(jar, name, value);
        }
        answer
    }
}

/// Sets a cookie, or deletes it if its value is empty. One that is set again keeps its age.
fn store(jar: &mut Vec<(String, String)>, name: &str, value: &str) {
    match jar.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => value.clone_into(known),
        None => jar.push((name.to_owned(), value.to_owned())),
    }
    jar.retain(|(_, value)| !value.is_empty());
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split(after).next()
}
