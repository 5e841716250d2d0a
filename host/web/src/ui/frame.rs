//! Layout of every page, and pages with a single message.

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::User;
use kitbag_manifest::Problem;

use super::text;
use crate::error::{WebError, as_problem};
use crate::pages::html;
use crate::sessions::sign_in_path;

/// The page's user, and its section of the site.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) user: String,
    pub(super) is_operator: bool,
    /// Whether the session is this server's own, so that the user can sign out.
    pub(super) can_sign_out: bool,
    pub(super) section: Section,
}

/// Sections of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Directory,
    Search,
    Documents,
    Connect,
    /// Section for operators.
    Operate,
    Account,
    /// A page outside the navigation.
    None,
}

/// Operators' pages: path and label.
pub(super) const OPERATE_PAGES: &[(&str, &str)] = &[
    ("/ui/operate/overview", "Overview"),
    ("/ui/operate", "Uploads"),
    ("/ui/operate/users", "Users"),
    ("/ui/operate/access", "Access"),
    ("/ui/operate/audit", "Audit log"),
];

/// Pages about documents: path and label.
pub(super) const DOCUMENT_PAGES: &[(&str, &str)] =
    &[("/ui/documents", "Documents"), ("/ui/collections", "Collections"), ("/ui/bin", "Bin")];

/// A link in the navigation.
pub(super) struct NavigationLink {
    pub(super) path: &'static str,
    pub(super) label: &'static str,
    pub(super) is_current: bool,
}

impl Frame {
    /// Navigation links of this user.
    pub(super) fn entries(&self) -> Vec<NavigationLink> {
        let all = [
            (Section::Directory, "/ui/", "Toolkits"),
            (Section::Search, "/ui/search", "Search"),
            (Section::Documents, "/ui/documents", "Documents"),
            (Section::Connect, "/ui/connect", "Connect"),
            (Section::Operate, "/ui/operate", "Operate"),
        ];
        let entry =
            |(section, path, label)| NavigationLink { path, label, is_current: self.section == section };
        let is_for_user = |(section, ..): &(Section, _, _)| self.is_operator || *section != Section::Operate;
        all.into_iter().filter(is_for_user).map(entry).collect()
    }

    pub(super) fn of(user: &User) -> Self {
        Self {
            user: user.id().to_owned(),
            is_operator: user.is_operator(),
            can_sign_out: false,
            section: Section::None,
        }
    }

    /// Returns the frame with another section.
    pub(super) fn at(self, section: Section) -> Self {
        Self { section, ..self }
    }
}

impl<S: Sync> FromRequestParts<S> for Frame {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, WebError> {
        let frame = parts.extensions.get::<Self>().cloned();
        frame.ok_or_else(|| WebError::new(StatusCode::INTERNAL_SERVER_ERROR, "The server failed."))
    }
}

/// An error, as a page.
#[derive(Template)]
#[template(path = "ui/templates/error.html")]
struct ErrorPage<'a> {
    frame: Option<Frame>,
    status: StatusCode,
    detail: &'a str,
    problems: &'a [Problem],
}

/// A form submitted without a session, to be sent again after the sign-in.
#[derive(Template)]
#[template(path = "ui/templates/send_again.html")]
struct SendAgain<'a> {
    frame: Option<Frame>,
    action: &'a str,
    sign_in: &'a str,
    fields: &'a [(String, String)],
}

/// Responds with a page. The template escapes all values.
pub(super) fn page(status: StatusCode, template: &impl Template) -> Response {
    (status, html(template)).into_response()
}

/// Renders errors as pages, with the status, text and problems of the API's response.
pub(super) async fn show_errors(response: Response) -> Response {
    let mut response = as_problem(response).await;
    let Some(error) = response.extensions_mut().remove::<WebError>() else { return response };
    let frame = response.extensions_mut().remove::<Frame>();
    let (status, detail, problems) = error.into_parts();
    let mut shown = page(status, &ErrorPage { frame, status, detail: &detail, problems: &problems });
    for name in [header::RETRY_AFTER, header::ALLOW] {
        if let Some(value) = response.headers_mut().remove(&name) {
            shown.headers_mut().insert(name, value);
        }
    }
    shown
}

/// Asks to sign in, on a page that preserves the submitted fields.
pub(super) fn send_again(action: &str, fields: &[(String, String)]) -> Response {
    let sign_in = sign_in_path("/ui/");
    let template = SendAgain { frame: None, action, sign_in: &sign_in, fields };
    page(StatusCode::UNAUTHORIZED, &template)
}
