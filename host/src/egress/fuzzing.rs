//! Entry points for `fuzz/`.

use std::net::IpAddr;
use std::sync::Arc;

use http::Uri;

use super::guard::AddressGuard;
use super::target::Target;

/// The URI that is sent in place of `uri`; nothing for one that is refused.
pub fn sent(uri: &Uri) -> Option<Uri> {
    Target::of(uri).ok()?.apply(uri).ok()
}

/// Whether a request under the public-internet policy may connect to `address`, no range being allowed.
pub fn is_public(address: IpAddr) -> bool {
    AddressGuard::PublicOr { allowed: Arc::from([]) }.permits(address)
}
