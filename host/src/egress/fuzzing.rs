//! Entry points for `fuzz/`.

use std::net::IpAddr;

use http::Uri;

use super::guard::{AddressGuard, CaptureRanges};
use super::nat64::Prefixes;
use super::target::Target;

/// The URI that is sent in place of `uri`; nothing for one that is refused.
pub fn sent(uri: &Uri) -> Option<Uri> {
    Target::of(uri).ok()?.apply(uri).ok()
}

/// Whether a capture may connect to `address`, where no range is opened and the network has no NAT64 prefix
/// of its own.
pub fn is_public(address: IpAddr) -> bool {
    let prefixes = Prefixes { configured: Vec::new(), discovered: Some(Vec::new()) };
    AddressGuard::Captures(CaptureRanges::default()).permits(address, &prefixes)
}
