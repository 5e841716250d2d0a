//! OAuth clients, registered or described by a metadata document.

use super::redirect_uri::RedirectUri;
use super::store::ClientRow;

/// An OAuth client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) redirect_uris: Vec<String>,
    pub(super) source: ClientSource,
}

/// Source of a client's name and redirect URIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientSource {
    /// Registration at this server.
    Registration,
    /// Metadata document; its URL is the client id.
    Document,
    /// The authorization request alone: the metadata document could not be read, for this reason. The client
    /// has no name.
    UnreadDocument(String),
}

impl From<&Client> for ClientRow {
    fn from(client: &Client) -> Self {
        let redirect_uris = serde_json::to_string(&client.redirect_uris).expect("strings always serialise");
        Self { id: client.id.clone(), name: client.name.clone(), redirect_uris }
    }
}

impl From<ClientRow> for Client {
    fn from(row: ClientRow) -> Self {
        Self {
            redirect_uris: serde_json::from_str(&row.redirect_uris).unwrap_or_default(),
            id: row.id,
            name: row.name,
            source: ClientSource::Registration,
        }
    }
}

impl Client {
    /// Whether `requested` matches a redirect URI of the client.
    pub(super) fn may_be_answered_at(&self, requested: &RedirectUri) -> bool {
        let mut registered = self.redirect_uris.iter().filter_map(|text| RedirectUri::parse(text).ok());
        registered.any(|registered| registered.admits(requested))
    }
}
