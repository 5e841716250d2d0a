//! Permitted destinations of a request, by originator: toolkit, capture or operator.

use std::sync::Arc;

use http::Uri;

use super::allowlist::Allowlist;
use super::error::EgressError;
use super::host_policy::{LiveHostPolicy, Membership};
use super::ports;
use super::target::Target;

/// A host that a toolkit declares, and a permitted port on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedHost {
    name: String,
    port: u16,
}

impl ListedHost {
    /// Normalised host name or IP address, as compared with the declaration.
    pub fn into_name(self) -> String {
        self.name
    }

    /// TCP port of the request.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Originator of a request, which determines its permitted destinations.
#[derive(Clone, Debug)]
pub enum Policy {
    /// A toolkit: only the hosts it declared, of these only those that the operator permits to toolkits, and only at
    /// public addresses and in the ranges that are opened to toolkits.
    Toolkit {
        /// The declared hosts.
        allowlist: Arc<Allowlist>,
        /// The user who calls the toolkit.
        user: Arc<str>,
        /// The user's groups.
        membership: Membership,
    },
    /// A URL that a user or a document supplied: any host, at ports that serve files, and only at public
    /// addresses and in the ranges that are opened to captures.
    Capture {
        /// The document's owner.
        user: Arc<str>,
    },
    /// The file of a document that a toolkit has added: as [`Capture`](Self::Capture), and only hosts that the
    /// operator permits to toolkits.
    ToolkitCapture {
        /// The document's owner.
        user: Arc<str>,
    },
    /// A URL that the operator configured, or that the operator's own identity provider named:
    /// any host at any address. Never for a URL that a toolkit or a user can choose; for one that a
    /// configured server chooses, [`LedBy`](super::LedBy) decides.
    Operator,
}

impl Policy {
    /// Metric label of the originator.
    pub(super) fn purpose(&self) -> &'static str {
        match self {
            Self::Toolkit { .. } => "toolkit",
            Self::Capture { .. } | Self::ToolkitCapture { .. } => "capture",
            Self::Operator => "server",
        }
    }

    /// Returns the host and port of a request if the toolkit declares them. An undeclared name may be
    /// arbitrary text composed by the toolkit.
    pub fn listed_host(&self, uri: &Uri) -> Option<ListedHost> {
        let Self::Toolkit { allowlist, .. } = self else { return None };
        let target = Target::of(uri).ok().filter(|target| allowlist.permits(target))?;
        Some(ListedHost { name: target.host().to_string(), port: target.port() })
    }

    pub(super) fn check(&self, target: &Target, permitted: &LiveHostPolicy) -> Result<(), EgressError> {
        let membership = match self {
            Self::Toolkit { allowlist, .. } if !allowlist.permits(target) => {
                return Err(EgressError::NotListed { authority: target.authority() });
            }
            Self::Capture { .. } | Self::ToolkitCapture { .. } if !ports::serves_files(target.port()) => {
                return Err(EgressError::ForbiddenPort { authority: target.authority() });
            }
            Self::Toolkit { membership, .. } => membership,
            // The groups of the user were checked when the document was added.
            Self::ToolkitCapture { .. } => &Membership::Unknown,
            Self::Capture { .. } | Self::Operator => return Ok(()),
        };
        permitted.check(target, membership)
    }

    /// The user whose share of name look-ups the request uses; empty for the operator.
    pub(super) fn user(&self) -> Arc<str> {
        match self {
            Self::Toolkit { user, .. } | Self::Capture { user } | Self::ToolkitCapture { user } => {
                user.clone()
            }
            Self::Operator => Arc::default(),
        }
    }

    /// Whether a connection that was opened under this policy may serve requests under the other. Each
    /// deployed toolkit version has its own [`Allowlist`] instance, so pointer equality identifies toolkit
    /// and version.
    pub(super) fn has_same_connections(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Toolkit { allowlist: left, .. }, Self::Toolkit { allowlist: right, .. }) => {
                Arc::ptr_eq(left, right) && self.has_same_user(other)
            }
            (Self::Capture { .. }, Self::Capture { .. })
            | (Self::ToolkitCapture { .. }, Self::ToolkitCapture { .. }) => self.has_same_user(other),
            (Self::Operator, Self::Operator) => true,
            _ => false,
        }
    }

    /// Whether both policies are for the same user. The operator counts as one user.
    pub(super) fn has_same_user(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Operator, Self::Operator) => true,
            (Self::Operator, _) | (_, Self::Operator) => false,
            (one, other) => one.user() == other.user(),
        }
    }
}
