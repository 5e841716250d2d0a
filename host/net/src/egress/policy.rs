//! Which requests are allowed, depending on whom they are sent for.

use std::sync::Arc;

use http::Uri;

use super::allowlist::Allowlist;
use super::error::EgressError;
use super::ports;
use super::target::Target;

/// A host that a toolkit declares, with a port that it may reach there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedHost {
    name: String,
    port: u16,
}

impl ListedHost {
    /// The name or address, as it is compared with the declaration.
    pub fn into_name(self) -> String {
        self.name
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// On whose behalf a request is sent, which decides where it may go.
#[derive(Clone, Debug)]
pub enum Policy {
    /// A toolkit: only the hosts it declared, and only at public addresses and in the ranges that are
    /// opened to toolkits.
    Toolkit {
        /// The declared hosts.
        allowlist: Arc<Allowlist>,
        /// The caller.
        user: Arc<str>,
    },
    /// A URL that a user or a document supplied: any host, at ports that serve files, and only at public
    /// addresses and in the ranges that are opened to captures.
    Capture {
        /// The document's owner.
        user: Arc<str>,
    },
    /// A URL that the operator configured, or that the operator's own identity provider named:
    /// any host at any address. Never for a URL that a toolkit or a user can choose.
    Operator,
}

impl Policy {
    /// A word for whom the requests are.
    pub(super) fn purpose(&self) -> &'static str {
        match self {
            Self::Toolkit { .. } => "toolkit",
            Self::Capture { .. } => "capture",
            Self::Operator => "server",
        }
    }

    /// The host of a request, if it is one that a toolkit declares. Any other name may be a text that the toolkit has
    /// composed.
    pub fn listed_host(&self, uri: &Uri) -> Option<ListedHost> {
        let Self::Toolkit { allowlist, .. } = self else { return None };
        let target = Target::of(uri).ok().filter(|target| allowlist.permits(target))?;
        Some(ListedHost { name: target.host().to_string(), port: target.port() })
    }

    pub(super) fn check(&self, target: &Target) -> Result<(), EgressError> {
        match self {
            Self::Toolkit { allowlist, .. } if !allowlist.permits(target) => {
                Err(EgressError::NotListed { authority: target.authority() })
            }
            Self::Capture { .. } if !ports::serves_files(target.port()) => {
                Err(EgressError::ForbiddenPort { authority: target.authority() })
            }
            Self::Toolkit { .. } | Self::Capture { .. } | Self::Operator => Ok(()),
        }
    }

    /// The user whose share of name look-ups the request uses; empty for the operator.
    pub(super) fn user(&self) -> Arc<str> {
        match self {
            Self::Toolkit { user, .. } | Self::Capture { user } => user.clone(),
            Self::Operator => Arc::default(),
        }
    }

    /// Whether a connection that was opened under this policy may serve requests under the other. A deployed
    /// version of a toolkit has an allowlist of its own, so the same list is the same version of the same toolkit.
    pub(super) fn has_same_connections(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Toolkit { allowlist: left, .. }, Self::Toolkit { allowlist: right, .. }) => {
                Arc::ptr_eq(left, right) && self.has_same_user(other)
            }
            (Self::Capture { .. }, Self::Capture { .. }) => self.has_same_user(other),
            (Self::Operator, Self::Operator) => true,
            _ => false,
        }
    }

    /// Whether both count as the same user's. The operator counts as one.
    pub(super) fn has_same_user(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Toolkit { user: left, .. } | Self::Capture { user: left },
                Self::Toolkit { user: right, .. } | Self::Capture { user: right },
            ) => left == right,
            (Self::Operator, Self::Operator) => true,
            _ => false,
        }
    }
}
