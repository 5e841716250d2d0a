//! Browser sessions: the cookie that identifies the user.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Method, header};
use kitbag_access::values::audit::Actor;
use kitbag_access::{Access, NotAdmitted};
use kitbag_base::base_url::path_of;
use kitbag_identity::{
    AuthError, AuthorizationServer, BrowserSession, BrowserSessions, Caller, Identity, ProgramKeys,
    ProviderError, ProviderSignIn, SessionState, TokenProfile,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretString};

use crate::authenticate::Authorizes;
use crate::error::WebError;
use crate::share::RequestShares;
use crate::state::Shared;

/// Browser sessions and their cookies.
#[derive(Clone)]
pub(crate) struct Sessions {
    pub(crate) stored: Arc<BrowserSessions>,
    /// API keys of programs; `None` if the operator forbids them. Pages are not accessible with a key.
    pub(crate) keys: Option<ProgramKeys>,
    pub(crate) cookie: SessionCookie,
    /// Cookies that bind sign-ins with the provider to the browser that started them. Each has the `state` of
    /// its sign-in in its name.
    pub(crate) pending_cookie: SessionCookie,
    pub(crate) mode: SignInMode,
    access: Access,
    pub(crate) shares: RequestShares,
}

/// Sign-in method of the pages; one for each deployment.
#[derive(Clone)]
pub(crate) enum SignInMode {
    /// Sign-in code, in local mode.
    Local(Arc<AuthorizationServer>),
    /// Sign-in with the external provider; this server is its OAuth client.
    Provider(Arc<ProviderSignIn>),
    /// Sign-in elsewhere: the operator's other applications set the provider's session cookie.
    ProviderCookie {
        identity: Arc<Identity>,
        /// Origins of these applications.
        applications: Arc<[String]>,
    },
}

/// The signed-in user of a request.
pub(crate) struct SignedIn {
    pub(crate) caller: Arc<Caller>,
    /// `None` if the provider manages the session.
    pub(crate) session: Option<BrowserSession>,
}

/// Name and attributes of a session cookie.
#[derive(Clone)]
pub(crate) struct SessionCookie {
    name: String,
    /// Whether the cookie has the attribute `Secure`.
    is_secure: bool,
    /// Attribute `Path`.
    path: String,
}

impl Sessions {
    pub(crate) fn of(shared: &Shared) -> Self {
        Self {
            stored: shared.browser_sessions.clone(),
            keys: shared.program_keys.clone(),
            cookie: SessionCookie::of(shared, ""),
            pending_cookie: SessionCookie::of(shared, "-signin"),
            mode: SignInMode::of(shared),
            access: shared.access.clone(),
            shares: shared.request_shares.clone(),
        }
    }

    /// Authenticates a request by its method and headers; `None` without a valid session.
    pub(crate) async fn recognise(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Option<SignedIn>, WebError> {
        if let SignInMode::ProviderCookie { identity, .. } = &self.mode {
            let caller = if matches!(*method, Method::GET | Method::HEAD) {
                identity.recognise_visitor(headers).await
            } else {
                identity.authenticate(headers).await
            };
            return match caller {
                Ok(caller) if caller.profile == TokenProfile::Key => Ok(None),
                Ok(caller) => Ok(Some(SignedIn { caller, session: None })),
                Err(AuthError::Unavailable) => Err(ProviderError::Unavailable.into()),
                Err(
                    AuthError::Missing
                    | AuthError::Invalid(_)
                    | AuthError::Unexpected { .. }
                    | AuthError::KeyPaused(_),
                ) => Ok(None),
            };
        }
        let session = self.find(headers).await?;
        Ok(session.map(|session| SignedIn { caller: Arc::new(session.caller()), session: Some(session) }))
    }

    /// Returns the authenticated caller of a request, if any; none if the caller's access was ended.
    pub(crate) async fn caller(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<Caller>>, WebError> {
        let Some(SignedIn { caller, .. }) = self.recognise(method, headers).await? else { return Ok(None) };
        match self.access.admit(&caller).await {
            Ok(()) => Ok(Some(caller)),
            Err(NotAdmitted::Ended) => Ok(None),
            Err(NotAdmitted::NoAnswer(no_answer)) => Err(no_answer.into()),
        }
    }

    /// Sign-in method of this deployment.
    pub(crate) fn mode(&self) -> &SignInMode {
        &self.mode
    }

    /// Returns the browser's session, if it has one that the provider confirms.
    pub(crate) async fn find(&self, headers: &HeaderMap) -> Result<Option<BrowserSession>, WebError> {
        let Some(session) = self.find_stored(headers).await? else { return Ok(None) };
        let state = match &self.mode {
            SignInMode::Local(_) => SessionState::Valid(session.groups.clone()),
            SignInMode::Provider(provider) => provider.confirm(&session).await?,
            SignInMode::ProviderCookie { .. } => SessionState::Ended,
        };
        Ok(match state {
            SessionState::Valid(groups) => Some(BrowserSession { groups, ..session }),
            SessionState::Ended => None,
        })
    }

    /// Returns the browser's session without asking the provider.
    pub(crate) async fn find_stored(&self, headers: &HeaderMap) -> Result<Option<BrowserSession>, WebError> {
        let Some(token) = self.cookie.read(headers) else { return Ok(None) };
        self.stored.find(token).await.map_err(|cause| WebError::storage(&cause))
    }

    /// Ends a session, here and at the provider.
    pub(crate) async fn end(&self, session: &BrowserSession) -> Result<(), WebError> {
        match &self.mode {
            SignInMode::Provider(provider) => Ok(provider.end(session).await?),
            SignInMode::Local(_) | SignInMode::ProviderCookie { .. } => {
                let ended =
                    self.stored.end(&Actor::user_only(&session.user), &session.user, &session.id).await;
                ended.map_err(|cause| WebError::storage(&cause))
            }
        }
    }

    /// Ends all sessions of a user, here and at the provider.
    pub(crate) async fn end_all(&self, user: &str) -> Result<(), WebError> {
        match &self.mode {
            SignInMode::Provider(provider) => Ok(provider.end_all(user).await?),
            SignInMode::Local(_) | SignInMode::ProviderCookie { .. } => {
                self.stored.end_all(user).await.map_err(|cause| WebError::storage(&cause))
            }
        }
    }
}

impl SignInMode {
    fn of(shared: &Shared) -> Self {
        match (&shared.authorization_server, &shared.provider_sign_in) {
            (Some(local), _) => Self::Local(local.clone()),
            (None, Some(provider)) => Self::Provider(provider.clone()),
            (None, None) => Self::ProviderCookie {
                identity: shared.identity.clone(),
                applications: shared.allowed_origins.clone(),
            },
        }
    }
}

impl Authorizes for Sessions {
    fn access(&self) -> &Access {
        &self.access
    }
}

impl SessionCookie {
    /// With TLS and without a base path, the prefix `__Host-` stops other hosts of the domain from setting
    /// the cookie (RFC 6265bis, section 4.1.3.2). Without TLS, the port is part of the name: the ports of a
    /// host share cookies, and two servers must not sign out each other's browsers.
    fn of(shared: &Shared, purpose: &str) -> Self {
        let is_secure = shared.base_url.scheme() == "https";
        let path = format!("{}/", path_of(&shared.base_url));
        let name = if is_secure && path == "/" {
            format!("__Host-kitbag{purpose}")
        } else if is_secure {
            // Other applications on the host must not get the cookie, and `__Host-` allows no path.
            format!("__Secure-kitbag{purpose}")
        } else {
            format!("kitbag-{}{purpose}", shared.base_url.port_or_known_default().unwrap_or_default())
        };
        Self { name, is_secure, path }
    }

    /// Returns the cookie with `-{suffix}` after its name. `suffix` consists of letters, digits, `-` and `_`.
    pub(crate) fn named(&self, suffix: &str) -> Self {
        Self { name: format!("{}-{suffix}", self.name), ..self.clone() }
    }

    /// Returns the valid suffixes of the request's cookies that [`named`](Self::named) has named, each with
    /// the size of its cookie in bytes, in the order of the request.
    pub(crate) fn suffixes<'a>(
        &self,
        headers: &'a HeaderMap,
        is_valid: fn(&str) -> bool,
    ) -> Vec<(&'a str, usize)> {
        let named = pairs(headers).filter_map(|pair| {
            let (suffix, _) = pair.strip_prefix(&self.name)?.strip_prefix('-')?.split_once('=')?;
            Some((suffix, pair.len()))
        });
        named.filter(|(suffix, _)| is_valid(suffix)).collect()
    }

    /// `Set-Cookie` that begins a session. `SameSite=Lax`, so that a user who follows a link from another
    /// site is signed in.
    pub(crate) fn set(&self, token: &SecretString, lifetime: Duration) -> HeaderValue {
        self.header(token.expose_secret(), lifetime.as_secs())
    }

    /// `Set-Cookie` that deletes the cookie.
    pub(crate) fn clear(&self) -> HeaderValue {
        self.header("", 0)
    }

    fn header(&self, value: &str, seconds: u64) -> HeaderValue {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let Self { name, path, .. } = self;
        let text = format!("{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        let mut header = HeaderValue::from_str(&text).expect("base64url is ASCII");
        header.set_sensitive(true);
        header
    }

    /// Returns the cookie's value. If there are several, one of them may be an attacker's, so none is used.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let mut values = pairs(headers).filter_map(|pair| pair.strip_prefix(&self.name)?.strip_prefix('='));
        let value = values.next()?;
        if values.next().is_some() { None } else { Some(value) }
    }
}

/// Returns the cookies of a request, each as `name=value`.
fn pairs(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).map(str::trim)
}

/// Path of the sign-in page that leads back to `to`.
pub(crate) fn sign_in_path(to: &str) -> String {
    format!("/ui/signin?to={}", utf8_percent_encode(to, NON_ALPHANUMERIC))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(is_secure: bool) -> SessionCookie {
        let name = if is_secure { "__Host-kitbag" } else { "kitbag-8787" };
        SessionCookie { name: name.to_owned(), is_secure, path: "/".to_owned() }
    }

    #[test]
    fn the_cookie_is_read_where_it_is_alone() {
        let read = |lines: &[&str]| {
            let headers = lines.iter().map(|line| (header::COOKIE, line.parse().expect("a value")));
            cookie(false).read(&headers.collect()).map(str::to_owned)
        };

        assert_eq!(read(&["kitbag-8787=abc"]).as_deref(), Some("abc"));
        assert_eq!(read(&["a=b; kitbag-8787=abc ;c=d"]).as_deref(), Some("abc"));
        for others in [&["kitbag-87=abc"][..], &["xkitbag-8787=abc"], &["kitbag-87878=abc"], &[]] {
            assert_eq!(read(others), None, "{others:?}");
        }
        assert_eq!(read(&["kitbag-8787=abc; kitbag-8787=def"]), None);
        assert_eq!(read(&["kitbag-8787=abc", "kitbag-8787=def"]), None);
    }

    #[test]
    fn cookies_with_a_suffix_are_found_by_it_and_told_from_others() {
        let line = "kitbag-8787=s; kitbag-8787-ab=12; other=x; kitbag-8787-=; kitbag-8787-c;kitbag-8787-d d=1; kitbag-8787-e=";
        let headers = [(header::COOKIE, line.parse().expect("a value"))].into_iter().collect();
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase());

        assert_eq!(cookie(false).suffixes(&headers, is_word), [("ab", 17), ("e", 14)]);
        assert_eq!(cookie(false).named("ab").read(&headers), Some("12"));
        assert_eq!(cookie(false).read(&headers), Some("s"));
    }

    #[test]
    fn the_cookie_is_for_this_server_alone() {
        let token = SecretString::from("abc");
        let set = |is_secure| {
            let header = cookie(is_secure).set(&token, Duration::from_mins(1));
            header.to_str().expect("ASCII").to_owned()
        };

        assert_eq!(set(false), "kitbag-8787=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
        assert_eq!(set(true), "__Host-kitbag=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure");
    }
}
