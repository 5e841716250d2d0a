//! Anchors: the ends of chains at a time, signed, to be kept where nobody can change both them and the database.
//!
//! An anchor is a JWS in compact serialization (RFC 7515), signed with Ed25519 (RFC 8037, section 3.1) by a key that
//! is derived from the master key. Its header has the public key, whose name is its thumbprint (RFC 7638).

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Retention;
use super::calls;
use super::ends;
use super::entry::shown_time;
use super::seals::SealingKeys;
use super::store::Store;
use super::verification::ChainFault;

/// Type of the signed object, in its header.
const TYPE: &str = "kitbag-audit-anchor+jws";

/// Key that signs anchors.
#[derive(Clone)]
pub struct AnchorKey(Arc<Ed25519KeyPair>);

/// The ends of chains at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    /// When the ends were read: RFC 3339, UTC.
    pub at: String,
    /// Time at which the log began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<String>,
    /// How long entries are kept, in seconds.
    pub retention_seconds: u64,
    /// Ends of the chains with entries that no earlier anchor of the same process covers.
    pub chains: Vec<AnchoredEnd>,
    /// Faults of the ends, which are left out, and of the list of chains.
    pub faults: Vec<ChainFault>,
}

/// Newest entry of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchoredEnd {
    /// Name of the chain.
    pub chain: String,
    /// Sequence number.
    pub sequence: i64,
    /// Hash, hexadecimal: it covers all entries before it, too.
    pub hash: String,
    /// Time of the entry: RFC 3339, UTC.
    pub at: String,
    /// Time for which entries of this chain are kept, in seconds, where it is another one than that of the anchor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_seconds: Option<u64>,
}

/// An anchor whose signature is right.
#[derive(Clone, Debug)]
pub struct SignedAnchor {
    /// Contents.
    pub anchor: Anchor,
    /// Thumbprint of the public key that has signed.
    pub key: String,
}

/// Error of a text that is no anchor.
#[derive(Debug, Error)]
pub enum NoAnchor {
    /// It has another form.
    #[error("it is no signed anchor of an audit log")]
    Malformed,
    /// It was changed.
    #[error("its signature is wrong")]
    Signature,
}

/// Makes anchors, each with what has changed since the one before.
pub struct Anchoring {
    store: Store,
    retention: Retention,
    /// Newest anchored sequence number of each chain.
    anchored: BTreeMap<String, i64>,
}

/// An anchor that was not written yet.
pub struct NewAnchor {
    /// The anchor as JWS, without a line break.
    pub signed: String,
    anchored: BTreeMap<String, i64>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    typ: String,
    jwk: Jwk,
}

/// Public key. Its members are in the order that RFC 7638 demands.
#[derive(Serialize, Deserialize)]
struct Jwk {
    crv: String,
    kty: String,
    x: String,
}

impl AnchorKey {
    /// Creates the key from 32 secret bytes.
    #[must_use]
    pub fn of_seed(seed: &[u8; 32]) -> Self {
        let key = Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed has 32 bytes");
        Self(Arc::new(key))
    }

    /// Returns the thumbprint of the public key.
    pub(super) fn thumbprint(&self) -> String {
        self.jwk().thumbprint()
    }

    fn jwk(&self) -> Jwk {
        let x = URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref());
        Jwk { crv: "Ed25519".to_owned(), kty: "OKP".to_owned(), x }
    }

    fn sign(&self, anchor: &Anchor) -> String {
        let header = Header { alg: "EdDSA".to_owned(), typ: TYPE.to_owned(), jwk: self.jwk() };
        let [header, payload] = [serde_json::to_vec(&header), serde_json::to_vec(anchor)]
            .map(|json| URL_SAFE_NO_PAD.encode(json.expect("texts and numbers are valid in JSON")));
        let signed = format!("{header}.{payload}");
        let signature = self.0.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Does not print the key.
impl Debug for AnchorKey {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("AnchorKey").field(&self.thumbprint()).finish()
    }
}

impl Jwk {
    fn thumbprint(&self) -> String {
        let json = serde_json::to_vec(self).expect("texts are valid in JSON");
        URL_SAFE_NO_PAD.encode(digest(&SHA256, &json))
    }
}

impl SignedAnchor {
    /// Reads an anchor, and verifies its signature with the key in its header. Whether that key is a server's is
    /// for the caller to decide.
    pub fn read(text: &str) -> Result<Self, NoAnchor> {
        let (signed, signature) = text.rsplit_once('.').ok_or(NoAnchor::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(NoAnchor::Malformed)?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| NoAnchor::Malformed);
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| NoAnchor::Malformed)?;
        let is_known = header.alg == "EdDSA"
            && header.typ == TYPE
            && header.jwk.kty == "OKP"
            && header.jwk.crv == "Ed25519";
        if !is_known {
            return Err(NoAnchor::Malformed);
        }
        let key = UnparsedPublicKey::new(&ED25519, decode(&header.jwk.x)?);
        key.verify(signed.as_bytes(), &decode(signature)?).map_err(|_| NoAnchor::Signature)?;
        let anchor = serde_json::from_slice(&decode(payload)?).map_err(|_| NoAnchor::Malformed)?;
        Ok(Self { anchor, key: header.jwk.thumbprint() })
    }
}

impl Anchoring {
    pub(super) fn new(store: Store, retention: Retention) -> Self {
        Self { store, retention, anchored: BTreeMap::new() }
    }

    /// Returns the next anchor; `None` if this process has no keys. Reads the ends and their seals, and no entries
    /// but the newest of each chain.
    pub async fn next(&self) -> crate::Result<Option<NewAnchor>> {
        let Store(database) = &self.store;
        let Some(keys) = database.1.keys() else { return Ok(None) };
        let Some(signing) = keys.signing() else { return Ok(None) };
        let (anchor, anchored) = self.read(&keys).await?;
        Ok(Some(NewAnchor { signed: signing.sign(&anchor), anchored }))
    }

    /// Notes that an anchor was written, so that the next one has only what has changed since.
    pub fn written(&mut self, anchor: NewAnchor) {
        self.anchored = anchor.anchored;
    }

    async fn read(&self, keys: &SealingKeys) -> crate::Result<(Anchor, BTreeMap<String, i64>)> {
        let Store(database) = &self.store;
        let mut snapshot = database.snapshot().await?;
        let names = ends::names(&mut snapshot).await?;
        let log = ends::log_row(&mut snapshot).await?.filter(ends::LogRow::has_begun);
        let mut anchor = Anchor {
            at: shown_time(Timestamp::now().as_millisecond()),
            begun_at: log.as_ref().map(|log| shown_time(log.begun_at)),
            retention_seconds: self.retention.acts.as_secs(),
            chains: Vec::new(),
            faults: ends::fault_of_list(&mut snapshot, log.as_ref(), Some(keys), &names)
                .await?
                .into_iter()
                .collect(),
        };
        let mut anchored = BTreeMap::new();
        for chain in names {
            let Some(ends) = ends::read(&mut snapshot, &chain).await? else { continue };
            if let Err(fault) = ends.check(keys) {
                let what = format!("the record of its ends {fault}");
                anchor.faults.push(ChainFault { chain: Some(chain), what });
                continue;
            }
            if self.anchored.get(&chain) != Some(&ends.newest) {
                let at = ends::time_of_newest(&mut snapshot, &ends).await?;
                anchor.chains.push(AnchoredEnd {
                    chain: chain.clone(),
                    sequence: ends.newest,
                    hash: hex::encode(&ends.newest_hash),
                    at: shown_time(at),
                    retention_seconds: (chain == calls::CHAIN).then_some(self.retention.calls.as_secs()),
                });
            }
            anchored.insert(chain, ends.newest);
        }
        Ok((anchor, anchored))
    }
}
