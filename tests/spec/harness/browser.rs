//! A person with a browser.

use std::collections::HashMap;

use http::{HeaderMap, HeaderValue, Method, header};
use url::Url;
use url::form_urlencoded::Serializer;

use super::{Answer, Http, sign_in_code};

/// More redirects than any sign-in needs.
const MOST_PAGES: usize = 20;

/// Keeps cookies, follows redirects, and fills in forms.
#[derive(Default)]
pub(crate) struct Browser {
    /// Of each server, by name.
    cookies: HashMap<String, HashMap<String, String>>,
    person: Person,
}

/// Who sits in front of it.
#[derive(Default, PartialEq, Eq)]
enum Person {
    /// Whoever runs the servers of the tests, and so knows their sign-in codes.
    #[default]
    Owner,
    /// Somebody in another account of the machine.
    Stranger,
}

impl Browser {
    /// Opens a page, signs in as `user` and agrees wherever a form asks, and returns the page that
    /// asks nothing any more: the client's, if all goes well.
    pub(crate) async fn sign_in(&mut self, page: &str, user: &str) -> (Url, Answer) {
        self.answer(page, &[("user", user), ("decision", "allow")]).await
    }

    /// As [`Self::sign_in`], but says no.
    pub(crate) async fn refuse(&mut self, page: &str) -> (Url, Answer) {
        self.answer(page, &[("user", ""), ("decision", "deny")]).await
    }

    /// Of somebody who does not know the sign-in codes of the tests' servers.
    pub(crate) fn of_a_stranger() -> Self {
        Self { person: Person::Stranger, ..Self::default() }
    }

    fn knows_codes(&self) -> bool {
        self.person == Person::Owner
    }

    async fn answer(&mut self, page: &str, fields: &[(&str, &str)]) -> (Url, Answer) {
        let mut url: Url = page.parse().expect("a page's URL");
        let mut form = None;
        for _ in 0..MOST_PAGES {
            let answer = self.fetch(&url, form.take()).await;
            if answer.status.is_redirection() {
                url = url.join(answer.header("location").expect("a way to go")).expect("a URL");
                continue;
            }
            let html = String::from_utf8_lossy(&answer.body).into_owned();
            let Some(action) = between(&html, "<form method=\"post\" action=\"", "\"") else {
                return (url, answer);
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
            match value {
                "" => jar.remove(name),
                value => jar.insert(name.to_owned(), value.to_owned()),
            };
        }
        answer
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split(after).next()
}
