//! Toolkits to deploy: components built before the tests run.

use crate::harness::root;

/// A component, by the name of its package.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guest(&'static str);

/// A real toolkit: counts, compares and tidies text.
pub(crate) const TEXT: Guest = Guest("toolkit-text");
/// A real toolkit: saves web pages in the knowledge base.
pub(crate) const CLIPPER: Guest = Guest("toolkit-clipper");
/// A real toolkit: notes in the knowledge base.
pub(crate) const NOTES: Guest = Guest("toolkit-notes");
/// A real toolkit in TypeScript: exchange rates.
pub(crate) const CURRENCY: Guest = Guest("toolkit-currency");
/// A real toolkit in TypeScript: translates, with a key of the user's.
pub(crate) const TRANSLATE: Guest = Guest("toolkit-translate");
/// A real toolkit in TypeScript: feeds and podcasts become documents.
pub(crate) const FEEDS: Guest = Guest("toolkit-feeds");
/// A real toolkit in TypeScript: issues, pull requests and code of GitHub.
pub(crate) const GITHUB: Guest = Guest("toolkit-github");
/// A real toolkit in TypeScript: papers of arXiv.
pub(crate) const PAPERS: Guest = Guest("toolkit-papers");
/// A real toolkit in Python, written against the contract alone: calculates with dates.
pub(crate) const DATES: Guest = Guest("toolkit-dates");
/// A toolkit in JavaScript, written against the contract alone.
pub(crate) const JAVASCRIPT: Guest = Guest("language-javascript");
/// A toolkit in C, written against the contract alone.
pub(crate) const C: Guest = Guest("language-c");
/// A toolkit in Go, written against the contract alone: requests pages of the upstream.
pub(crate) const GO: Guest = Guest("language-go");
/// A toolkit in Rust, written against the contract alone.
pub(crate) const RUST: Guest = Guest("language-rust");
/// Declares behavioural hints in each possible way, one tool for each.
pub(crate) const HINTS: Guest = Guest("guest-hints");
/// One tool for each kind of reply.
pub(crate) const REPLIES: Guest = Guest("guest-replies");
/// Misbehaves, with one tool per failure mode of a call.
pub(crate) const HOSTILE: Guest = Guest("guest-hostile");
/// Calls each capability directly, and declares all of them.
pub(crate) const PROBE: Guest = Guest("guest-probe");
/// Uses the knowledge base as the probe does, as another toolkit.
pub(crate) const NEIGHBOUR: Guest = Guest("guest-neighbour");
/// Has prompts, resources and completions, some of which misbehave.
pub(crate) const OFFERS: Guest = Guest("guest-offers");
/// The tools that the conformance suite calls.
pub(crate) const CONFORMANCE: Guest = Guest("guest-conformance");
/// Has more tools than fit on a page of the list.
pub(crate) const SHOP: Guest = Guest("guest-shop");
pub(crate) const CROWD: Guest = Guest("guest-crowd");
/// Declares `auth`: the host signs in for it at one of its two egress hosts.
pub(crate) const SIGNED_IN: Guest = Guest("guest-signed-in");
/// Acts with its user's account, an API key and a password, each at a different host.
pub(crate) const ACCOUNT: Guest = Guest("guest-account");
/// Declares secrets: required, optional, and those of its `auth`.
pub(crate) const NEEDS_SECRET: Guest = Guest("guest-needs-secret");
/// A private toolkit: version 1.0.0.
pub(crate) const GREETER_V1: Guest = Guest("guest-greeter-v1");
/// Also version 1.0.0, with other bytes.
pub(crate) const GREETER_V1_CHANGED: Guest = Guest("guest-greeter-v1-changed");
/// Version 2.0.0, which also declares an egress host.
pub(crate) const GREETER_V2: Guest = Guest("guest-greeter-v2");
/// Valid component that targets another WIT world.
pub(crate) const OTHER_WORLD: Guest = Guest("guest-other-world");
/// Imports `wasi:sockets`, and tries to use them.
pub(crate) const IMPORTS_SOCKETS: Guest = Guest("guest-imports-sockets");
/// Imports capabilities that it does not declare.
pub(crate) const OVERREACH: Guest = Guest("guest-overreach");
/// Has an error in each part of its declaration.
pub(crate) const TEN_MISTAKES: Guest = Guest("guest-ten-mistakes");
/// Never returns its declaration.
pub(crate) const DESCRIBE_SPINS: Guest = Guest("guest-describe-spins");
/// Calls a capability from `describe`.
pub(crate) const DESCRIBE_USES_SECRET: Guest = Guest("guest-describe-uses-secret");

impl Guest {
    /// Reads the component.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let path = self.path();
        std::fs::read(&path)
            .unwrap_or_else(|error| panic!("run `just build-guests`: {}: {error}", path.display()))
    }

    /// Returns the path of the component.
    pub(crate) fn path(self) -> std::path::PathBuf {
        root().join("target-guests/components").join(format!("{}.wasm", self.0))
    }
}
