//! Export of everything that a user has: a tar archive of JSON, texts and files (docs/organisation.md lists its entries).
//!
//! Invariants:
//! - in memory is one document with its text, or one page of the rest;
//! - secrets, accounts and keys are in it by name, and nothing that gives access;
//! - an archive that broke off has neither `contents.json` nor the end of an archive.

use std::io;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use kitbag_base::shares::{Exceeded, Share};
use kitbag_database::Holder;
use kitbag_database::audit::{Act, Actor, Entry};
use kitbag_knowledge::{Document, KnowledgeError, Listing, State, Summary, Version};
use kitbag_manifest::file_formats;
use kitbag_manifest::media_type::without_parameters;
use kitbag_toolkits::invocations::{Filter, Query, Scope};
use kitbag_toolkits::knowledge_tools;
use serde::Serialize;
use tokio::sync::mpsc::channel;
use tokio::time::timeout;
use tracing::{error, info};

use super::archive::{Archive, Incomplete};
use super::store::{InventoryStore, shown};
use super::{AllUsers, details};
use crate::Access;
use crate::error::AccessError;
use crate::user::User;

/// Version of the layout of the archive.
const FORMAT: u32 = 1;
/// Number of documents, feeds and the like that are listed at a time.
const PAGE: u32 = 200;
/// Characters of any text: the largest range that both databases take.
const WHOLE_TEXT: Range<u32> = 0..0x7fff_fffe;
/// Time after which an export breaks off: a reader who stops reading would take the place of others for ever.
const MAX_TIME: Duration = if cfg!(test) { Duration::from_secs(5) } else { Duration::from_hours(1) };
/// Pieces of the archive that wait for its reader.
const MAX_PENDING_PIECES: usize = 2;

/// An export that is being written while it is read.
pub struct Export {
    /// Name for the file, in ASCII.
    pub file_name: String,
    /// The archive. It breaks off with an error where something cannot be read.
    pub archive: BoxStream<'static, io::Result<Bytes>>,
}

/// Last entry of an archive: what is in it. An archive without it is not complete.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Contents {
    format: u32,
    user: String,
    /// Time at which the export began.
    exported_at: String,
    documents: u64,
    deleted_documents: u64,
    earlier_texts: u64,
    files: u64,
    /// Ids of documents whose file is missing on the server.
    missing_files: Vec<String>,
    feeds: u64,
    settings: u64,
    calls: u64,
}

/// A document, beside its texts and its file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentItem<'a> {
    id: &'a str,
    title: &'a str,
    url: Option<&'a str>,
    author: Option<&'a str>,
    source: &'a str,
    feed: Option<&'a str>,
    state: &'static str,
    /// Why it is not searchable.
    reason: Option<&'a str>,
    added_by: &'a str,
    changed_by: &'a str,
    created_at: String,
    updated_at: String,
    version: u32,
    file: Option<FileItem<'a>>,
    deleted_at: Option<String>,
    deleted_by: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileItem<'a> {
    media_type: &'a str,
    size: u64,
    sha256: &'a str,
}

/// An earlier text of a document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VersionItem {
    number: u32,
    title: String,
    changed_at: String,
    replaced_at: String,
    changed_by: String,
    text: String,
}

/// A feed of the user's documents.
#[derive(Serialize)]
struct FeedItem {
    source: String,
    key: String,
    name: String,
    label: Option<String>,
}

/// An export, with what it needs.
struct Exporting {
    /// First, so that it is released before the archive ends.
    permit: Share,
    access: Access,
    user: String,
    archive: Archive,
    contents: Contents,
}

impl User {
    /// Begins an export of everything that the user has here. One at a time; it is recorded in the audit log.
    pub async fn export(&self) -> Result<Export, AccessError> {
        self.admit_own_act()?;
        begin(&self.access, self.id(), &self.actor()).await
    }
}

impl AllUsers<'_> {
    /// Begins an export of what a user has whose access was ended: everybody else exports it themselves. Not for keys of
    /// programs.
    pub async fn export(&self, id: &str) -> Result<Export, AccessError> {
        let operator = &self.0.0;
        if operator.is_program() {
            operator.stores().audit.refused(&operator.actor(), Act::UserExported.name(), None).await;
            return Err(AccessError::ProgramsCannotEnd);
        }
        let known = self.inventory().get(id).await.map_err(AccessError::Users)?;
        let known = known.ok_or_else(|| AccessError::UnknownUser(id.to_owned()))?;
        if !known.summary.is_ended {
            operator.stores().audit.refused(&operator.actor(), Act::UserExported.name(), None).await;
            return Err(AccessError::ExportOfOther(id.to_owned()));
        }
        begin(&operator.access, id, &operator.actor()).await
    }
}

async fn begin(access: &Access, user: &str, by: &Actor) -> Result<Export, AccessError> {
    let permit = access.0.exports.take(by.user(), 1).map_err(|exceeded| match exceeded {
        Exceeded::PerHolder => AccessError::TooManyExports,
        Exceeded::Total => AccessError::TooManyExportsOfAll,
    })?;
    let entry = Entry::new(Act::UserExported, by);
    let entry = if by.user() == user { entry } else { entry.affects(user) };
    let store = InventoryStore::new(access.stores().database.clone());
    store.record(&entry).await.map_err(AccessError::Users)?;
    let now = Timestamp::now();
    let (to, pieces) = channel(MAX_PENDING_PIECES);
    let exporting = Exporting {
        permit,
        access: access.clone(),
        user: user.to_owned(),
        archive: Archive::new(to, u64::try_from(now.as_second()).unwrap_or_default()),
        contents: Contents {
            format: FORMAT,
            user: user.to_owned(),
            exported_at: now.to_string(),
            ..Contents::default()
        },
    };
    // Ends with the next piece that nobody reads.
    tokio::spawn(exporting.run());
    let archive = stream::unfold(pieces, |mut pieces| async { Some((pieces.recv().await?, pieces)) });
    Ok(Export {
        file_name: format!("kitbag-export-{}.tar", now.strftime("%Y-%m-%d")),
        archive: archive.boxed(),
    })
}

impl Exporting {
    async fn run(mut self) {
        let outcome = timeout(MAX_TIME, self.write()).await;
        let Self { permit, user, archive, contents, .. } = self;
        // Before the last piece, which waits for whoever reads.
        drop(permit);
        match outcome {
            Ok(Ok(())) => info!(%user, documents = contents.documents, "exported what a user has"),
            Ok(Err(Incomplete::Unread)) => info!(%user, "an export was not read to its end"),
            Ok(Err(Incomplete::Failed(cause))) => {
                error!(%user, %cause, "an export broke off");
                archive.fail(io::Error::other("something could not be read")).await;
            }
            Err(_elapsed) => {
                info!(%user, "an export was not read to its end in time");
                archive.fail(io::Error::other("it took longer than an hour")).await;
            }
        }
    }

    async fn write(&mut self) -> Result<(), Incomplete> {
        self.write_user().await?;
        let holder = Holder::user(&self.user);
        self.write_feeds(&holder).await?;
        self.contents.documents = self.write_documents(&holder, "documents").await?;
        self.contents.deleted_documents = self.write_documents(&holder.bin(), "bin").await?;
        self.write_calls().await?;
        self.archive.add_json("contents.json", &self.contents).await?;
        self.archive.end().await
    }

    /// Writes names of what the user has, and the values of settings.
    async fn write_user(&mut self) -> Result<(), Incomplete> {
        let Self { access, user, archive, .. } = self;
        let known = details(access, user).await?;
        archive.add_json("user.json", &known.unwrap_or_default()).await?;
        let store = InventoryStore::new(access.stores().database.clone());
        let settings = store.settings_with_values(user).await?;
        self.contents.settings = settings.len() as u64;
        self.archive.add_lines("settings.jsonl", &settings).await
    }

    async fn write_feeds(&mut self, holder: &Holder) -> Result<(), Incomplete> {
        let knowledge = self.access.stores().knowledge.clone();
        for page in 0.. {
            let feeds = knowledge.feeds(holder, page * PAGE, PAGE).await?;
            let count = feeds.len();
            let feeds: Vec<_> = feeds
                .into_iter()
                .map(|it| FeedItem { source: it.source, key: it.key, name: it.name, label: it.label })
                .collect();
            self.archive.add_lines(&format!("feeds/{:06}.jsonl", page + 1), &feeds).await?;
            self.contents.feeds += count as u64;
            if count < PAGE as usize {
                break;
            }
        }
        Ok(())
    }

    /// Writes the documents of a holder below `folder`. Returns their number.
    async fn write_documents(&mut self, holder: &Holder, folder: &str) -> Result<u64, Incomplete> {
        let knowledge = self.access.stores().knowledge.clone();
        let mut count = 0;
        let mut listing = Listing { limit: PAGE, ..Listing::default() };
        loop {
            let page = knowledge.documents(holder, &listing).await?;
            for (cursor, summary) in page.documents {
                listing.after = Some(cursor);
                // Deleted meanwhile.
                if self.write_document(holder, folder, &summary.id).await? {
                    count += 1;
                }
            }
            if !page.has_more {
                return Ok(count);
            }
        }
    }

    /// Writes a document with its text, earlier texts and file. Returns whether it is still there.
    async fn write_document(&mut self, holder: &Holder, folder: &str, id: &str) -> Result<bool, Incomplete> {
        let knowledge = self.access.stores().knowledge.clone();
        let holders = [holder.clone()];
        let Some(Document { summary, text }) = found(knowledge.document(holders.to_vec(), id).await)? else {
            return Ok(false);
        };
        let path = format!("{folder}/{id}");
        self.archive.add_json(&format!("{path}/document.json"), &DocumentItem::of(&summary)).await?;
        self.archive.add(&format!("{path}/text.txt"), text).await?;
        for version in found(knowledge.versions(&holders, id).await)?.unwrap_or_default() {
            let whole = knowledge.version_part(&holders, id, version.number, WHOLE_TEXT).await;
            let Some((version, text)) = found(whole)? else { continue };
            let name = format!("{path}/versions/{}.json", version.number);
            self.archive.add_json(&name, &VersionItem::of(version, text)).await?;
            self.contents.earlier_texts += 1;
        }
        if summary.artifact.is_none() {
            return Ok(true);
        }
        match found(knowledge.artifact(&holders, id).await)? {
            Some((artifact, content)) => {
                let name = format!("{path}/file{}", extension(&artifact.media_type));
                self.archive.add_stream(&name, artifact.size, content).await?;
                self.contents.files += 1;
            }
            None => self.contents.missing_files.push(id.to_owned()),
        }
        Ok(true)
    }

    /// Writes the records of the user's calls, by toolkit.
    async fn write_calls(&mut self) -> Result<(), Incomplete> {
        let invocations = self.access.stores().invocations.clone();
        let registry = self.access.stores().toolkits.registry.load();
        let toolkits = registry.all().map(|live| live.definition.id.clone());
        let toolkits: Vec<_> = toolkits.chain([knowledge_tools::ID.to_owned()]).collect();
        drop(registry);
        for toolkit in toolkits {
            let query = Query {
                toolkit: toolkit.clone(),
                viewer: self.user.clone(),
                since: Timestamp::MIN,
                until: Timestamp::MAX,
                after: 0,
                before: None,
                last: None,
                filter: Filter::default(),
            };
            let mut reading = invocations.read(query, Scope::Own).await?;
            let until = reading.newest();
            for page in 1.. {
                let records = reading.next_page(Scope::Own, until).await?;
                if records.is_empty() {
                    break;
                }
                self.contents.calls += records.len() as u64;
                self.archive.add_lines(&format!("calls/{toolkit}/{page:06}.jsonl"), &records).await?;
            }
        }
        Ok(())
    }
}

/// Returns `None` for what was deleted meanwhile.
fn found<T>(outcome: Result<T, KnowledgeError>) -> Result<Option<T>, KnowledgeError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(KnowledgeError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Usual extension of a media type, with its dot; empty if there is none.
fn extension(media_type: &str) -> String {
    let format = without_parameters(media_type).and_then(|plain| file_formats::of(plain.essence_str()));
    let extension = format.and_then(|format| format.extensions.first().copied());
    extension.map(|extension| format!(".{extension}")).unwrap_or_default()
}

impl<'a> DocumentItem<'a> {
    fn of(document: &'a Summary) -> Self {
        let (state, reason) = match &document.state {
            State::Pending => ("pending", None),
            State::Ready => ("ready", None),
            State::Failed(reason) => ("failed", Some(reason.as_str())),
        };
        let file = document.artifact.as_ref().map(|file| FileItem {
            media_type: &file.media_type,
            size: file.size,
            sha256: &file.digest,
        });
        Self {
            id: &document.id,
            title: &document.title,
            url: document.url.as_deref(),
            author: document.author.as_deref(),
            source: &document.source,
            feed: document.feed.as_ref().map(|feed| feed.key.as_str()),
            state,
            reason,
            added_by: &document.added_by,
            changed_by: &document.changed_by,
            created_at: shown(document.created_at),
            updated_at: shown(document.updated_at),
            version: document.version,
            file,
            deleted_at: document.deleted.as_ref().map(|it| shown(it.at)),
            deleted_by: document.deleted.as_ref().map(|it| it.by.as_str()),
        }
    }
}

impl VersionItem {
    fn of(version: Version, text: String) -> Self {
        Self {
            number: version.number,
            title: version.title,
            changed_at: shown(version.changed_at),
            replaced_at: shown(version.replaced_at),
            changed_by: version.changed_by,
            text,
        }
    }
}
