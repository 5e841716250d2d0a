//! Entry points for `fuzz/`.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use bytes::Bytes;
use futures::{FutureExt, TryStreamExt, stream};
use serde_json::{Map, Value};
use tokio::runtime::Builder;

use super::form::Form;
use super::multipart;
use super::schema_form::{Mistakes, SchemaForm};

/// Parses a form; `None` if it is refused.
pub fn form(body: Vec<u8>) -> Option<Vec<(String, String)>> {
    let read = Form::read(body.into()).now_or_never().expect("the body is there at once");
    read.ok().map(Form::into_fields)
}

/// Outcome of a form that is generated from a schema.
#[derive(Debug)]
pub struct Filled {
    /// Number of rows of the form.
    pub rows: usize,
    /// The arguments, or the number of mistakes.
    pub arguments: Result<Map<String, Value>, usize>,
    /// The same for the form as first shown, with its defaults.
    pub untouched: Result<Map<String, Value>, usize>,
}

/// Submits `fields` to the form of a schema.
pub fn arguments(schema: &Value, fields: Vec<(String, String)>) -> Filled {
    let form = SchemaForm::of(schema);
    let typed = Form::of(fields);
    let read = |typed: &Form| form.arguments(typed).map_err(|mistakes| mistakes.len());
    let arguments = read(&typed);
    let untouched = read(&form.defaults());
    Filled { rows: form.rows(&typed, &Mistakes::new()).len(), arguments, untouched }
}

/// A parsed upload form.
#[derive(Debug)]
pub struct Upload {
    /// Fields before the file.
    pub fields: Vec<(String, String)>,
    /// Name and content of the file; no content if the upload was cut off.
    pub file: Option<(String, Option<Vec<u8>>)>,
}

/// Parses a form with the boundary `X`, which arrives in two pieces.
pub fn upload(first: &[u8], rest: &[u8]) -> Option<Upload> {
    let runtime = Builder::new_current_thread().build().expect("a runtime needs nothing");
    runtime.block_on(read_upload(first, rest))
}

async fn read_upload(first: &[u8], rest: &[u8]) -> Option<Upload> {
    let pieces = [first, rest].map(|piece| Ok::<_, std::io::Error>(Bytes::copy_from_slice(piece)));
    let multipart = HeaderValue::from_static("multipart/form-data; boundary=X");
    let headers: HeaderMap = [(header::CONTENT_TYPE, multipart)].into_iter().collect();
    let upload = multipart::read(&headers, Body::from_stream(stream::iter(pieces))).await.ok()?;
    let file = match upload.file {
        Some(file) => {
            let content = file.content.map_ok(Vec::from).try_concat().await;
            Some((file.name, content.ok()))
        }
        None => None,
    };
    Some(Upload { fields: upload.form.into_fields(), file })
}
