//! Push of components.

use bytes::Bytes;
use http::{Method, StatusCode, header};
use kitbag_base::loopback::is_loopback;
use kitbag_base::sha256::Sha256;
use url::Url;

use super::artifact::{Artifact, MANIFEST};
use super::authorization::Action;
use super::reference::ContentDigest;
use super::registry::{Registry, Wanted};
use super::sending::AnsweredBy;
use super::{PinnedReference, RegistryError};

/// A component that was pushed.
#[derive(Debug)]
pub struct Pushed {
    /// Reference of the component, with the digest of its manifest.
    pub reference: PinnedReference,
}

impl Registry<'_> {
    /// Pushes a component under the reference. An existing tag then names this component.
    pub async fn push(mut self, artifact: Artifact) -> Result<Pushed, RegistryError> {
        let Artifact { config, component, manifest } = artifact;
        for blob in [config, component] {
            self.push_blob(blob.into()).await?;
        }
        let digest = ContentDigest::of_sha256(Sha256::digest(&manifest));
        let what = "the manifest";
        let wanted = Wanted {
            method: Method::PUT,
            place: format!("manifests/{}", self.reference().manifest_name()),
            headers: vec![(header::CONTENT_TYPE, MANIFEST.to_owned())],
            body: manifest.into(),
        };
        let response = self.ask(&wanted, Action::Push).await?;
        self.expect(response, StatusCode::CREATED, what).await?;
        Ok(Pushed { reference: self.reference().pinned(digest) })
    }

    /// Uploads a blob, unless the registry has it.
    async fn push_blob(&mut self, content: Bytes) -> Result<(), RegistryError> {
        let digest = ContentDigest::of_sha256(Sha256::digest(&content));
        let what = "an upload";
        let wanted = |method, place| Wanted { method, place, headers: Vec::new(), body: Bytes::new() };
        let known = self.ask(&wanted(Method::HEAD, format!("blobs/{digest}")), Action::Push).await?;
        if known.status() == StatusCode::OK {
            return Ok(());
        }
        let begun = self.ask(&wanted(Method::POST, "blobs/uploads/".to_owned()), Action::Push).await?;
        let begun = self.expect(begun, StatusCode::ACCEPTED, what).await?;
        let location = begun.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let mut place = resolve(&AnsweredBy::of(&begun).url, location.unwrap_or_default())?;
        place.query_pairs_mut().append_pair("digest", digest.as_str());
        let upload = Wanted {
            method: Method::PUT,
            place: place.into(),
            headers: vec![(header::CONTENT_TYPE, "application/octet-stream".to_owned())],
            body: content,
        };
        let response = self.ask(&upload, Action::Push).await?;
        self.expect(response, StatusCode::CREATED, what).await?;
        Ok(())
    }
}

/// Returns the URL of an upload, from the `Location` of the response from `base`, which may be relative.
fn resolve(base: &Url, location: &str) -> Result<Url, RegistryError> {
    let unusable = || RegistryError::Unreadable("it names no place for an upload".to_owned());
    let url = base.join(location).map_err(|_| unusable())?;
    // A component is not secret, but must not be modified in transit.
    let is_protected = url.scheme() == "https" || is_loopback(&url);
    if location.is_empty() || !is_protected { Err(unusable()) } else { Ok(url) }
}
