//! Form to add a document: a text, the URL of a page or file, or a file.

use askama::Template;
use axum::body::Body;
use axum::extract::Query;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use kitbag_access::User;
use kitbag_access::values::knowledge::{Change, Ingested, KnowledgeError, NewDocument};
use kitbag_manifest::{Problem, Problems};
use serde::Deserialize;

use super::{Frame, Section, frame, text};
use crate::authenticate::By;
use crate::documents::{declared_length, named};
use crate::error::WebError;
use crate::ui::form::Form;
use crate::ui::holders::{self, Kept};
use crate::ui::multipart;

/// Submitted values of the form.
#[derive(Default)]
struct Typed {
    title: String,
    url: String,
    author: String,
    file_url: String,
    text: String,
    /// The title in the upload form.
    file_title: String,
    /// Collection, by id; empty for the user's own documents.
    collection: String,
}

/// Query string of the page.
#[derive(Default, Deserialize)]
pub(in crate::ui) struct Asked {
    #[serde(default)]
    collection: String,
}

#[derive(Template)]
#[template(path = "ui/templates/new_document.html")]
struct NewPage {
    frame: Option<Frame>,
    typed: Typed,
    /// Collections to which the user may add.
    kept: Vec<Kept>,
    problems: Vec<Problem>,
    /// Error that belongs to no field of the form.
    problem: Option<String>,
}

/// `GET /ui/documents/new`
pub(in crate::ui) async fn show(By(user): By<User>, frame: Frame, Query(asked): Query<Asked>) -> Response {
    let typed = Typed { collection: asked.collection, ..Typed::default() };
    page(&user, frame, typed, StatusCode::OK, Vec::new(), None)
}

/// `POST /ui/documents/new`: a text, or the URL of a file that the server fetches.
pub(in crate::ui) async fn add(By(user): By<User>, frame: Frame, body: Body) -> Result<Response, WebError> {
    let typed = Typed::of(&Form::read(body).await?);
    let holder = user.documents().of(holders::named(&typed.collection))?;
    let added = holder.ingest(vec![typed.document()]).await;
    let added = added.map(|ingested| ingested.into_iter().next());
    Ok(answer(&user, frame, typed, added))
}

/// `POST /ui/documents/file`: a form with a file, whose content is stored while it arrives.
pub(in crate::ui) async fn add_file(
    By(user): By<User>,
    frame: Frame,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, WebError> {
    let length = declared_length(&headers);
    let upload = multipart::read(&headers, body).await?;
    let field = |name| upload.form.get(name).to_owned();
    let typed = Typed { file_title: field("title"), collection: field("collection"), ..Typed::default() };
    let Some(file) = upload.file else {
        let mut problems = Problems::default();
        problems.add("file", "choose one");
        return Ok(page(&user, frame, typed, StatusCode::UNPROCESSABLE_ENTITY, problems.0, None));
    };
    let is_titled = !typed.file_title.trim().is_empty();
    let titled = NewDocument { title: typed.file_title.clone(), ..NewDocument::default() };
    let titled = if is_titled { titled } else { named(&file.name) };
    let document = NewDocument { mime_type: file.media_type, ..titled };
    let holder = user.documents().of(holders::named(&typed.collection))?;
    let added = holder.ingest_file(document, Some(&file.name), file.content, length).await;
    Ok(answer(&user, frame, typed, added.map(Some)))
}

fn answer(
    user: &User,
    frame: Frame,
    typed: Typed,
    added: Result<Option<Ingested>, KnowledgeError>,
) -> Response {
    match added {
        Ok(Some(Ingested { id, change })) => {
            let done = match change {
                Change::Created => "added",
                Change::Updated => "updated",
                Change::Unchanged => "unchanged",
            };
            Redirect::to(&format!("/ui/documents/{id}?done={done}")).into_response()
        }
        Ok(None) => Redirect::to("/ui/documents").into_response(),
        Err(KnowledgeError::Invalid(problems)) => {
            let problems =
                problems.0.into_iter().map(|problem| typed.in_words_of_the_form(problem)).collect();
            page(user, frame, typed, StatusCode::UNPROCESSABLE_ENTITY, problems, None)
        }
        Err(error) => {
            let (status, detail, _) = WebError::from(error).into_parts();
            page(user, frame, typed, status, Vec::new(), Some(detail))
        }
    }
}

fn page(
    user: &User,
    frame: Frame,
    typed: Typed,
    status: StatusCode,
    problems: Vec<Problem>,
    problem: Option<String>,
) -> Response {
    let frame = Some(frame.at(Section::Documents));
    let kept = holders::kept(user);
    frame::page(status, &NewPage { frame, typed, kept, problems, problem })
}

impl NewPage {
    /// Errors in fields that the page does not have.
    fn other_problems(&self) -> impl Iterator<Item = &Problem> {
        const FIELDS: [&str; 6] = ["title", "text", "fileUrl", "url", "author", "file"];

        self.problems.iter().filter(|problem| !FIELDS.contains(&problem.path.as_str()))
    }

    /// Returns the error of a field.
    fn problem_of(&self, field: &str) -> Option<&str> {
        self.problems.iter().find(|problem| problem.path == field).map(|problem| problem.message.as_str())
    }
}

impl Typed {
    fn of(form: &Form) -> Self {
        let field = |name| form.get(name).to_owned();
        Self {
            title: field("title"),
            url: field("url"),
            author: field("author"),
            file_url: field("fileUrl"),
            text: field("text"),
            file_title: String::new(),
            collection: field("collection"),
        }
    }

    /// Converts an error in the document to one in the form.
    fn in_words_of_the_form(&self, Problem { path, message }: Problem) -> Problem {
        // In a batch of one, a path is `documents[0].title`.
        let path = path.trim_start_matches("documents[0].").to_owned();
        let is_empty = |text: &str| text.trim().is_empty();
        let message = match path.as_str() {
            "title" if is_empty(&self.title) => "give it a title".to_owned(),
            "text" if is_empty(&self.text) => "write a text, or name a page or file below".to_owned(),
            _ => message,
        };
        Problem { path, message }
    }

    fn document(&self) -> NewDocument {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
        NewDocument {
            title: self.title.clone(),
            text: given(&self.text),
            url: given(&self.url),
            author: given(&self.author),
            file_url: given(&self.file_url),
            ..NewDocument::default()
        }
    }
}
