//! HTTP API of the view of access, and of the groups that users were seen with. Operators only.

use axum::extract::Query;
use axum::http::StatusCode;
use kitbag_access::Operator;
use kitbag_access::values::view::{AccessView, Question, SeenGroups};
use serde::Deserialize;

use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Query string: one of the members.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    user: Option<String>,
    group: Option<String>,
    toolkit: Option<String>,
    host: Option<String>,
}

impl Asked {
    /// Returns the question; `None` unless exactly one is asked.
    fn question(self) -> Option<Question> {
        let asked = [
            self.user.map(Question::User),
            self.group.map(Question::Group),
            self.toolkit.map(Question::Toolkit),
            self.host.map(Question::Host),
        ];
        let mut asked = asked.into_iter().flatten();
        asked.next().filter(|_| asked.next().is_none())
    }
}

/// `GET /access?user=…`, or with `group=…`, `toolkit=…` or `host=…`: what a user or a group may use and read, who may
/// use a toolkit, who reaches a host.
pub(super) async fn show(
    By(operator): By<Operator>,
    Query(asked): Query<Asked>,
) -> Result<Json<AccessView>, WebError> {
    let question = asked.question().ok_or_else(|| {
        WebError::new(StatusCode::BAD_REQUEST, "ask about one of user, group, toolkit and host")
    })?;
    Ok(Json(operator.access_view(question).await?))
}

/// `GET /groups`: groups that users were seen with at their last sign-in, with how many.
pub(super) async fn groups(By(operator): By<Operator>) -> Result<Json<SeenGroups>, WebError> {
    Ok(Json(operator.seen_groups().await?))
}
