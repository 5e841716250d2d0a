//! Acts recorded in the audit log.

/// Declares the acts with their names.
macro_rules! acts {
    ($($(#[$doc:meta])* $act:ident = $name:literal;)*) => {
        /// An act that is recorded. Its name is stable: others filter by it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Act {
            $($(#[$doc])* $act,)*
        }

        impl Act {
            /// All acts.
            pub const ALL: &[Self] = &[$(Self::$act,)*];

            /// The name, such as `toolkit.deployed`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$act => $name,)*
                }
            }
        }
    };
}

acts! {
    /// A version was deployed, and is live.
    ToolkitDeployed = "toolkit.deployed";
    /// A component was uploaded for review.
    ToolkitUploaded = "toolkit.uploaded";
    /// An upload was discarded after its review.
    ToolkitUploadDiscarded = "toolkit.upload_discarded";
    /// A newer version in a registry was refused before anybody had reviewed it.
    ToolkitNewerRefused = "toolkit.newer_refused";
    /// An operator vouches for the version that they have made live.
    ToolkitVouched = "toolkit.vouched";
    /// An earlier version was made live again.
    ToolkitRolledBack = "toolkit.rolled_back";
    /// A toolkit was removed with all its versions.
    ToolkitRemoved = "toolkit.removed";
    /// The owner has released a toolkit.
    ToolkitReleased = "toolkit.released";
    /// A toolkit has another owner: by a take-over, or by a version that made its operator the owner.
    ToolkitTakenOver = "toolkit.taken_over";
    /// A toolkit has passed from an owner who has left to the operator who ended them.
    ToolkitPassed = "toolkit.passed";
    /// A toolkit was shared, or the limits of its calls were changed.
    ToolkitShared = "toolkit.shared";
    /// A toolkit is no longer shared with somebody.
    ToolkitUnshared = "toolkit.unshared";
    /// A toolkit is no longer bound to the publisher of its versions.
    ToolkitPublisherReset = "toolkit.publisher_reset";
    /// A publisher was added, whose signatures are verified.
    PublisherAdded = "publisher.added";
    /// A publisher was removed.
    PublisherRemoved = "publisher.removed";
    /// A user has set a secret.
    SecretSet = "secret.set";
    /// A user has removed a secret.
    SecretUnset = "secret.unset";
    /// An operator has set a secret for everyone.
    SecretSetForEveryone = "secret.set_for_everyone";
    /// An operator has removed a secret for everyone.
    SecretUnsetForEveryone = "secret.unset_for_everyone";
    /// A user has agreed to what a toolkit reaches now.
    ConsentGiven = "consent.given";
    /// A user lets their code call a tool that may change something.
    CodeAllowed = "code.allowed";
    /// A user no longer lets their code call such a tool.
    CodeDisallowed = "code.disallowed";
    /// A user has connected an account.
    AccountConnected = "account.connected";
    /// A user has ended an account.
    AccountEnded = "account.ended";
    /// The provider has ended an account.
    AccountEndedByProvider = "account.ended_by_provider";
    /// A user has created a key of a program.
    KeyCreated = "key.created";
    /// A key of a program was revoked, by its user or by an operator.
    KeyRevoked = "key.revoked";
    /// An operator has ended the access of a user: keys, sessions and grants of clients.
    UserEnded = "user.ended";
    /// The identity provider has added or changed a user (SCIM).
    UserProvisioned = "user.provisioned";
    /// The identity provider has deactivated or removed a user: access is ended, and refused until it changes (SCIM).
    UserDeactivated = "user.deactivated";
    /// A user who was deactivated may sign in again.
    UserReactivated = "user.reactivated";
    /// The identity provider has removed a user (SCIM).
    UserDeprovisioned = "user.deprovisioned";
    /// The identity provider has added or renamed a group (SCIM).
    GroupProvisioned = "group.provisioned";
    /// The identity provider has removed a group (SCIM).
    GroupDeprovisioned = "group.deprovisioned";
    /// The identity provider has added a member to a group (SCIM).
    GroupMemberAdded = "group.member_added";
    /// The identity provider has removed a member from a group (SCIM).
    GroupMemberRemoved = "group.member_removed";
    /// An operator has made a token of an identity provider that provisions users (SCIM).
    ScimTokenCreated = "scim_token.created";
    /// An operator has revoked such a token.
    ScimTokenRevoked = "scim_token.revoked";
    /// What a user had whose access was ended was removed, moved or passed on.
    UserCleared = "user.cleared";
    /// A user has exported what they have here, or an operator what a user has whose access was ended.
    UserExported = "user.exported";
    /// The secrets were rewrapped with another master key.
    MasterKeyRotated = "master_key.rotated";
    /// A collection was made.
    CollectionCreated = "collection.created";
    /// A collection has another name or description.
    CollectionDescribed = "collection.described";
    /// A collection was shared with somebody, or somebody has another role in it.
    CollectionShared = "collection.shared";
    /// A collection is no longer shared with somebody.
    CollectionUnshared = "collection.unshared";
    /// An operator has become a curator of a collection.
    CollectionTakenOver = "collection.taken_over";
    /// A collection went to the bin, with its documents.
    CollectionDeleted = "collection.deleted";
    /// A collection is back from the bin.
    CollectionRestored = "collection.restored";
    /// A collection was removed for good, with its documents.
    CollectionPurged = "collection.purged";
    /// A user has signed in with a browser.
    SessionSignedIn = "session.signed_in";
    /// A session of a browser was ended, or all of one user.
    SessionEnded = "session.ended";
    /// A user has let an OAuth client renew its tokens (local mode).
    ClientGranted = "client.granted";
    /// A grant of an OAuth client has ended before its time (local mode).
    ClientRevoked = "client.revoked";
    /// All grants, sessions and keys were ended with the sign-in code (local mode).
    SignInCodeChanged = "sign_in_code.changed";
    /// Something was refused that only operators may do, or only the owner of the toolkit.
    OperatorRefused = "operator.refused";
    /// The server has found that the log was changed in the database.
    AuditBroken = "audit.broken";
}
