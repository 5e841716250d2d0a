//! Provisioning by identity providers (SCIM), and its tokens, which operators make.

use kitbag_database::audit::Act;
use kitbag_identity::{Provisioner, ProvisioningToken};
use secrecy::SecretString;

use super::Access;
use super::error::AccessError;
use super::operator::Operator;

/// Tokens of identity providers that provision users, for operators.
#[derive(Clone, Copy)]
pub struct ScimTokens<'a> {
    operator: &'a Operator,
}

impl Access {
    /// Whether this server is set up for provisioning (setting `scim-user-id`).
    pub fn is_provisioned(&self) -> bool {
        self.stores().provisioning.is_on()
    }

    /// Returns the provider with this token, if it is valid. It is no user, and reaches provisioned users and groups alone.
    pub async fn provisioner(&self, token: &str) -> Result<Option<Provisioner>, AccessError> {
        self.stores().provisioning.provisioner(token).await.map_err(AccessError::Users)
    }
}

impl Operator {
    /// Returns the tokens of identity providers.
    pub fn scim_tokens(&self) -> ScimTokens<'_> {
        ScimTokens { operator: self }
    }
}

impl ScimTokens<'_> {
    /// Returns the tokens, by name.
    pub async fn all(&self) -> Result<Vec<ProvisioningToken>, AccessError> {
        self.operator.0.stores().provisioning.tokens().await.map_err(AccessError::Users)
    }

    /// Creates a token, whose secret is returned this once. Refused for a program's key.
    pub async fn create(&self, name: &str) -> Result<(SecretString, ProvisioningToken), AccessError> {
        self.expect_person(Act::ScimTokenCreated).await?;
        if !self.operator.0.access.is_provisioned() {
            return Err(AccessError::NotProvisioned);
        }
        Ok(self.operator.0.stores().provisioning.create_token(name, &self.operator.0.actor()).await?)
    }

    /// Revokes a token, from the next request on. Refused for a program's key.
    pub async fn revoke(&self, id: &str) -> Result<(), AccessError> {
        self.expect_person(Act::ScimTokenRevoked).await?;
        let revoked = self.operator.0.stores().provisioning.revoke_token(id, &self.operator.0.actor()).await;
        if revoked.map_err(AccessError::Users)? {
            Ok(())
        } else {
            Err(AccessError::UnknownScimToken(id.to_owned()))
        }
    }

    async fn expect_person(&self, act: Act) -> Result<(), AccessError> {
        if !self.operator.0.is_program() {
            return Ok(());
        }
        self.operator.note_refused(act, None).await;
        Err(AccessError::ProgramsCannotProvision)
    }
}
