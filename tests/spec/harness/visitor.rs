//! A user's browser on the server's own pages.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use url::Url;
use url::form_urlencoded::Serializer;

use super::{Answer, Http, Kitbag, ServerProcess, Stream, sign_in_code};

/// Browser client: sends the session cookie, and the headers that tell which page a request comes from.
pub(crate) struct Visitor {
    http: Http,
    cookie: Option<String>,
    headers: Vec<(&'static str, &'static str)>,
}

impl Visitor {
    /// Creates a browser without a session.
    pub(crate) fn new(kitbag: &Kitbag) -> Self {
        Self::with_http(kitbag.anonymous())
    }

    /// Like [`Self::new`], with this client.
    pub(crate) fn with_http(http: Http) -> Self {
        let headers = vec![("sec-fetch-site", "same-origin"), ("user-agent", "Test Browser")];
        Self { http, cookie: None, headers }
    }

    /// Creates a browser that has signed in on the page, in local mode.
    pub(crate) async fn sign_in(kitbag: &Kitbag, user: &str) -> Self {
        Self::new(kitbag).signed_in(kitbag.base_url(), user).await
    }

    /// Like [`Self::sign_in`], for a server in its own process.
    pub(crate) async fn of_process(server: &ServerProcess, user: &str) -> Self {
        Self::with_http(Http::new(server.base_url().clone())).signed_in(server.base_url(), user).await
    }

    async fn signed_in(self, base_url: &Url, user: &str) -> Self {
        let mut visitor = self;
        let code = sign_in_code(base_url).expect("a server in local mode");
        let fields = [("user", user), ("code", &code), ("to", "/ui/")];
        let answer = visitor.post("/ui/signin", &fields).await.assert_status(303);
        visitor.keep_cookie(&answer);
        assert!(visitor.cookie.is_some(), "{answer:?}");
        visitor
    }

    /// Starts a sign-in with the provider; returns the browser and the `state` of the authorization request.
    pub(crate) async fn begin_sign_in(kitbag: &Kitbag, to: &str) -> (Self, String) {
        Self::new(kitbag).begins_sign_in(to).await
    }

    /// Like [`Self::begin_sign_in`], in this browser.
    pub(crate) async fn begins_sign_in(self, to: &str) -> (Self, String) {
        let mut visitor = self;
        let sent = visitor.get(&format!("/ui/signin?to={to}")).await.assert_status(303);
        visitor.keep_cookie(&sent);
        let page: Url = sent.header("location").expect("a page").parse().expect("a URL");
        let state = page.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
        (visitor, state)
    }

    /// Creates a browser with this `Cookie` header.
    pub(crate) fn with_cookies(kitbag: &Kitbag, cookies: &str) -> Self {
        Self { cookie: Some(cookies.to_owned()), ..Self::new(kitbag) }
    }

    /// Copies the browser, replacing the headers that a page of the server would send.
    pub(crate) fn sending(&self, headers: &[(&'static str, &'static str)]) -> Self {
        Self { http: self.http.clone(), cookie: self.cookie.clone(), headers: headers.to_vec() }
    }

    /// The same browser at another process of the service. Without TLS, the name of a cookie has the port.
    pub(crate) fn through(&self, http: Http) -> Self {
        let name = |http: &Http| format!("kitbag-{}", http.url("/").port().expect("a port"));
        let cookie = self.cookie.as_ref().map(|cookie| cookie.replace(&name(&self.http), &name(&http)));
        Self { http, cookie, headers: self.headers.clone() }
    }

    /// Session cookie as `name=value`.
    pub(crate) fn cookie(&self) -> Option<&str> {
        self.cookie.as_deref()
    }

    /// Stores the cookie set by a response, or removes it if its value is empty.
    pub(crate) fn keep_cookie(&mut self, answer: &Answer) {
        let Some(set) = answer.header("set-cookie") else { return };
        let pair = set.split(';').next().expect("a pair");
        self.cookie = Some(pair.to_owned()).filter(|pair| !pair.ends_with('='));
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.http.send(Method::GET, path, self.request_headers(), "").await
    }

    /// Opens a response stream of lines.
    pub(crate) async fn follow(&self, path: &str) -> Stream {
        self.http.stream(path, self.request_headers()).await
    }

    /// Sends a form.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut headers = self.request_headers();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(header::CONTENT_TYPE, form);
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        self.http.send(Method::POST, path, headers, body).await
    }

    /// Sends a form with one file.
    pub(crate) async fn post_file(&self, path: &str, field: &str, file: &[u8]) -> Answer {
        self.post_file_after(path, &[], field, file).await
    }

    /// Like [`Self::post_file`], with fields before the file.
    pub(crate) async fn post_file_after(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        field: &str,
        file: &[u8],
    ) -> Answer {
        let mut headers = self.request_headers();
        let form = HeaderValue::from_static("multipart/form-data; boundary=boundary-of-the-tests");
        headers.insert(header::CONTENT_TYPE, form);
        let head = format!(
            "--boundary-of-the-tests\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"a.wasm\"\r\n\
             Content-Type: application/wasm\r\n\r\n"
        );
        let before = fields.iter().map(|(name, value)| {
            format!("--boundary-of-the-tests\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        });
        let before = before.collect::<String>();
        let body = [before.as_bytes(), head.as_bytes(), file, b"\r\n--boundary-of-the-tests--\r\n"].concat();
        self.http.send(Method::POST, path, headers, body).await
    }

    /// Uploads a component for review, and returns the path of its review; panics if it is rejected.
    pub(crate) async fn upload_component(&self, component: &[u8]) -> String {
        let answer = self.post_file("/ui/operate/uploads", "component", component).await.assert_status(303);
        let path = answer.header("location").expect("a page").to_owned();
        assert!(path.starts_with("/ui/operate/uploads/"), "{path}");
        path
    }

    fn request_headers(&self) -> HeaderMap {
        let mut headers: HeaderMap = self
            .headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        if let Some(cookie) = &self.cookie {
            headers.insert(header::COOKIE, cookie.parse().expect("cookies are ASCII"));
        }
        headers
    }
}
