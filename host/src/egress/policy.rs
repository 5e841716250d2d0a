//! Which request may leave on whose behalf.

use std::sync::Arc;

use super::allowlist::Allowlist;
use super::error::EgressError;
use super::ports;
use super::target::Target;

/// On whose behalf a request leaves, which decides where it may go.
#[derive(Clone, Debug)]
pub enum Policy {
    /// A toolkit: only the hosts it declared, and only at public addresses and in the ranges that are
    /// opened to toolkits.
    Toolkit {
        /// The hosts.
        allowlist: Arc<Allowlist>,
        /// Whose call it is.
        user: Arc<str>,
    },
    /// A URL that a user or a document supplied: any host, at ports that serve files, and only at public
    /// addresses and in the ranges that are opened to captures.
    Capture {
        /// Whose document it is.
        user: Arc<str>,
    },
    /// A URL that the operator configured, or that the operator's own identity provider named:
    /// any host at any address. Never for a URL that a toolkit or a user can choose.
    Operator,
}

impl Policy {
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

    /// Whose share of the name servers it uses.
    pub(super) fn user(&self) -> Arc<str> {
        match self {
            Self::Toolkit { user, .. } | Self::Capture { user } => user.clone(),
            Self::Operator => Arc::default(),
        }
    }
}
