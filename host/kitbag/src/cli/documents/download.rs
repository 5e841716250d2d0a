//! `kitbag documents download`

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use http::header;
use http_body_util::BodyExt;
use kitbag_base::visible;
use kitbag_net::egress::ResponseBody;
use serde_json::json;

use crate::cli::client::Connection;
use crate::cli::error::CliError;
use crate::cli::output::{expect_text, report};
use crate::cli::terminal::{raw_stdout, say};

/// Save the file that was captured for a document.
#[derive(Args, Debug)]
#[command(
    after_help = "Without FILE the file gets its document's title as its name, and none that is there is \
                  written over. `-` writes to standard output."
)]
pub(super) struct Download {
    /// The document's id.
    id: String,
    /// Where to write it.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

impl Download {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let to_stdout = self.file.as_deref() == Some(Path::new("-"));
        if to_stdout {
            expect_text("the file itself goes to standard output")?;
        }
        let path = format!("/documents/{}/artifact", super::path_segment(&self.id));
        let response = self.connection.open().await?.download(&path).await?;
        let offered = response.headers().get(header::CONTENT_DISPOSITION);
        let offered =
            offered.and_then(|value| value.to_str().ok()).and_then(name).unwrap_or(&self.id).to_owned();
        let body = response.into_body();
        if to_stdout {
            return copy(body, &mut raw_stdout()?).await;
        }
        let (file, existing) = match self.file {
            Some(file) => (file, Existing::Replaced),
            None => (PathBuf::from(offered), Existing::Kept),
        };
        save(body, &file, existing).await?;
        report(&json!({ "id": self.id, "file": file }), || say!("Saved as {}.", file.display()))
    }
}

/// Handling of an existing file with the same name.
#[derive(Clone, Copy)]
pub(in crate::cli) enum Existing {
    Replaced,
    Kept,
}

/// Writes to a temporary file in the same folder and renames it: an interrupted download leaves no partial
/// file.
pub(in crate::cli) async fn save(
    body: ResponseBody,
    path: &Path,
    existing: Existing,
) -> Result<(), CliError> {
    let unwritable =
        |cause: &dyn std::fmt::Display| CliError::new(format!("cannot write {}: {cause}", path.display()));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".kitbag-")
        .tempfile_in(folder)
        .map_err(|error| unwritable(&error))?;
    copy(body, file.as_file_mut()).await?;
    let kept = match existing {
        Existing::Replaced => file.persist(path),
        Existing::Kept => file.persist_noclobber(path),
    };
    kept.map(drop).map_err(|failed| match failed.error.kind() {
        std::io::ErrorKind::AlreadyExists => CliError::new(format!("{} is there already", path.display()))
            .hint("name another file after the id"),
        _ => unwritable(&failed.error),
    })
}

async fn copy(mut body: ResponseBody, out: &mut impl Write) -> Result<(), CliError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| CliError::new(format!("the answer broke off: {error}")))?;
        let data = frame.data_ref().map_or(&[][..], |data| data);
        out.write_all(data).map_err(|error| CliError::new(format!("cannot write: {error}")))?;
    }
    out.flush().map_err(|error| CliError::new(format!("cannot write: {error}")))
}

/// File name in a `Content-Disposition` header; `None` if it could be anything but a plain name.
pub(in crate::cli) fn name(disposition: &str) -> Option<&str> {
    let (_, rest) = disposition.split_once("filename=\"")?;
    let (name, _) = rest.split_once('"')?;
    let is_name = !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && visible::line(name) == name;
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_offers_a_name_and_never_a_place() {
        assert_eq!(name("attachment; filename=\"a b.pdf\"; filename*=UTF-8''a"), Some("a b.pdf"));
        for disposition in [
            "attachment",
            "filename=\"../a\"",
            "filename=\".bashrc\"",
            "filename=\"\"",
            "filename=\"a",
            "filename=\"a\u{1b}\"",
        ] {
            assert_eq!(name(disposition), None, "{disposition}");
        }
    }
}
