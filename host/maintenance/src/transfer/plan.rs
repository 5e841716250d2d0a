//! Changes to rows during the copy: user ids, and secrets sealed for them. Determined before anything is
//! written.

use kitbag_database::{
    Column, Holder, KEYS, Row, SECRETS, SESSION_GRANTS, SESSIONS, Table, Transaction, USERS, Value,
};
use kitbag_identity::recorded_issuer;
use kitbag_vault::{Resealing, SealedValue, SecretsCheck, audit_keys, check_secrets, master_key_names};

use super::store::all_users;
use super::users::{UserIds, UserIdsError};
use super::{Source, Target, TransferError};

/// Changes to rows during the copy.
pub(super) struct Plan<'j> {
    users: Option<(&'j UserIds, Option<Resealing>)>,
    issuer: Issuer,
    /// Whether the target's database does not support NUL in texts.
    replaces_nul: bool,
    /// Number of texts in which NUL was replaced.
    pub(super) changed_texts: u64,
    /// Secrets that no key decrypts.
    pub(super) broken_secrets: SecretsCheck,
}

/// Whether the target trusts the same issuer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Issuer {
    Same,
    Other,
}

impl<'j> Plan<'j> {
    /// Determines the changes. Fails if the source cannot be copied to this target.
    pub(super) async fn of(
        source: &Source,
        target: &Target,
        users: Option<&'j UserIds>,
        state: &mut Transaction,
    ) -> Result<Self, TransferError> {
        let issuer = match recorded_issuer(state).await? {
            Some(recorded) if recorded != target.issuer => {
                let are_known = users.is_some() || target.issuer_replaces.as_ref() == Some(&recorded);
                if !are_known {
                    return Err(TransferError::OtherIssuer { recorded, present: target.issuer.clone() });
                }
                Issuer::Other
            }
            _ => Issuer::Same,
        };
        if let Some(users) = users {
            users.expect_all(&all_users(state, |table| is_included(table, issuer)).await?)?;
        }
        let has_secrets = !master_key_names(&source.database).await?.is_empty();
        let broken_secrets =
            if has_secrets { check_keys(source, target).await? } else { SecretsCheck::default() };
        check_audit_keys(source, target).await?;
        let users = match users {
            Some(users) if has_secrets => Some((users, Some(Resealing::load(&target.keys).await?))),
            users => users.map(|users| (users, None)),
        };
        let replaces_nul = !target.database.is_exclusive();
        Ok(Self { users, issuer, replaces_nul, changed_texts: 0, broken_secrets })
    }

    /// Whether the target trusts another issuer.
    pub(super) fn is_other_issuer(&self) -> bool {
        self.issuer == Issuer::Other
    }

    /// Whether rows of a table are copied.
    pub(super) fn includes(&self, table: &Table) -> bool {
        is_included(table, self.issuer)
    }

    /// Converts a row of the source for the target.
    pub(super) fn adapt(
        &mut self,
        table: &Table,
        columns: &[Column],
        row: &mut Row,
    ) -> Result<(), TransferError> {
        if self.replaces_nul {
            let texts =
                row.iter().filter(|value| matches!(value, Value::Text(Some(text)) if text.contains('\0')));
            self.changed_texts += texts.count() as u64;
        }
        let Some((users, resealing)) = &self.users else { return Ok(()) };
        // Done first, while the row still has the user id for which the secret is sealed.
        if let (SECRETS, Some(resealing)) = (table.name, resealing) {
            reseal(users, resealing, columns, row)?;
        }
        for column in table.users {
            let Some(Value::Text(Some(user))) = place(columns, column).map(|place| &mut row[place]) else {
                continue;
            };
            *user = users.of(user)?.to_owned().into();
        }
        if table.has_holders
            && let Some(Value::Text(Some(key))) = place(columns, "holder").map(|place| &mut row[place])
        {
            let holder = Holder::from(key.to_string());
            if let Some(user) = holder.user_id() {
                *key = holder.with_user_id(users.of(user)?).key().to_owned().into();
            }
        }
        Ok(())
    }
}

/// Whether rows of a table are copied. Sessions and keys are valid only with the issuer of their users, whose sign-ins,
/// and the ends of their access, also concern its tokens alone.
fn is_included(table: &Table, issuer: Issuer) -> bool {
    issuer == Issuer::Same || ![SESSIONS, SESSION_GRANTS, KEYS, USERS].contains(&table.name)
}

/// Decrypts each secret with the target's keys. Fails if a key is missing. Secrets that do not open although
/// their key exists do not open in the source either.
async fn check_keys(source: &Source, target: &Target) -> Result<SecretsCheck, TransferError> {
    let check = check_secrets(&source.database, &target.keys).await?;
    if check.missing_keys.is_empty() {
        return Ok(check);
    }
    let missing = check.missing_keys.into_iter();
    Err(TransferError::MissingKeys(
        missing.map(|(key, secrets)| format!("{key}, which seals {secrets} of them")).collect(),
    ))
}

/// Fails if the target's keys cannot verify the seals of the audit log: a server would record that as a fault.
async fn check_audit_keys(source: &Source, target: &Target) -> Result<(), TransferError> {
    let needed = source.database.audit_key_names().await?;
    if needed.is_empty() {
        return Ok(());
    }
    let keys = audit_keys(&target.keys).await?;
    let missing: Vec<_> = needed.into_iter().filter(|name| !keys.has(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.into_iter();
    Err(TransferError::MissingKeys(missing.map(|key| format!("{key}, which seals the audit log")).collect()))
}

/// Seals a secret for the new id of its user. Does not change a secret that does not open.
fn reseal(
    users: &UserIds,
    resealing: &Resealing,
    columns: &[Column],
    row: &mut Row,
) -> Result<(), UserIdsError> {
    const TEXTS: [&str; 4] = ["user_id", "toolkit_id", "name", "master_key"];
    const BYTES: [&str; 2] = ["wrapped_key", "sealed"];

    let texts = TEXTS.map(|name| match place(columns, name).map(|place| &row[place]) {
        Some(Value::Text(Some(text))) => text.to_string(),
        _ => String::new(),
    });
    let bytes = BYTES.map(|name| match place(columns, name).map(|place| &row[place]) {
        Some(Value::Bytes(Some(bytes))) => bytes.to_vec(),
        _ => Vec::new(),
    });
    let [user, toolkit, name, master_key] = texts;
    let [wrapped_key, value] = bytes;
    let sealed = SealedValue { master_key, wrapped_key, value };
    let Some(sealed) = resealing.reseal([&user, users.of(&user)?], &toolkit, &name, sealed) else {
        return Ok(());
    };
    let SealedValue { master_key, wrapped_key, value } = sealed;
    let changed = [(TEXTS[3], master_key.into()), (BYTES[0], wrapped_key.into()), (BYTES[1], value.into())];
    for (name, value) in changed {
        if let Some(place) = place(columns, name) {
            row[place] = value;
        }
    }
    Ok(())
}

fn place(columns: &[Column], name: &str) -> Option<usize> {
    columns.iter().position(|column| column.name == name)
}
