//! Entry points for `fuzz/`.

use std::net::IpAddr;

use http::Uri;

use super::guard::{AddressGuard, CaptureRanges};
use super::nat64::Prefixes;
use super::target::Target;

/// Returns the URI that is sent in place of `uri`; `None` if it is refused.
pub fn sent(uri: &Uri) -> Option<Uri> {
    Target::of(uri).ok()?.apply(uri).ok()
}

/// Whether a capture may connect to `address`, with no range opened and no network-specific NAT64 prefix.
pub fn is_public(address: IpAddr) -> bool {
    let prefixes = Prefixes { configured: Vec::new(), discovered: Some(Vec::new()) };
    AddressGuard::Captures(CaptureRanges::default()).permits(address, &prefixes)
}
