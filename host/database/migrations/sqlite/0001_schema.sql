-- All tables are strict: a column holds values of its own type, as in other engines. Times are milliseconds since 1970, UTC.

CREATE VIEW clock AS SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now;

-- A toolkit exists exactly as long as one of its versions is live.
CREATE TABLE toolkits (
    id           TEXT PRIMARY KEY NOT NULL,
    owner        TEXT NOT NULL,
    live_version TEXT NOT NULL,
    FOREIGN KEY (id, live_version) REFERENCES toolkit_versions (toolkit_id, version)
        DEFERRABLE INITIALLY DEFERRED
) STRICT;

CREATE TABLE toolkit_versions (
    toolkit_id  TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    version     TEXT NOT NULL,
    -- SHA-256 of the component, hexadecimal; the name of its file.
    digest      TEXT NOT NULL,
    size        INTEGER NOT NULL,
    -- manifest.json
    manifest    TEXT NOT NULL,
    -- What changed since the version that was live before: { "added": [...], "removed": [...] }
    changes     TEXT NOT NULL,
    -- The interfaces that the component imports, without their versions: a JSON array.
    imports     TEXT NOT NULL,
    deployed_by TEXT NOT NULL,
    deployed_at INTEGER NOT NULL,
    PRIMARY KEY (toolkit_id, version)
) STRICT;

CREATE INDEX toolkit_versions_by_digest ON toolkit_versions (digest);

-- Which version became live, when and by whom; a roll-back adds a line like any deploy.
CREATE TABLE toolkit_activations (
    sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
    toolkit_id   TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    version      TEXT NOT NULL,
    activated_by TEXT NOT NULL,
    activated_at INTEGER NOT NULL,
    -- Why whoever activated it vouches for it, so that no user is asked; NULL if nobody does.
    vouched      TEXT
) STRICT;

CREATE INDEX toolkit_activations_by_toolkit ON toolkit_activations (toolkit_id, sequence);

-- What became of the ownership of toolkits, oldest first. Lines stay when their toolkit is removed: whoever
-- takes one over, removes it and deploys it anew is still seen to have done so.
CREATE TABLE toolkit_ownership (
    sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
    toolkit_id   TEXT NOT NULL,
    -- `released`, `kept` (released before, and used by its owner again), `taken-over`, `removed`
    event        TEXT NOT NULL,
    owner_before TEXT NOT NULL,
    -- Who did it; the owner from then on, where the toolkit was taken over.
    by_user      TEXT NOT NULL,
    at           INTEGER NOT NULL
) STRICT;

CREATE INDEX toolkit_ownership_by_toolkit ON toolkit_ownership (toolkit_id, sequence);

-- Where versions come from that are no unsigned uploads, and who signed them.
CREATE TABLE toolkit_provenance (
    toolkit_id    TEXT NOT NULL,
    version       TEXT NOT NULL,
    -- The reference in a registry, without the digest, and the digest of the manifest there; NULL for an uploaded file.
    source        TEXT,
    source_digest TEXT,
    -- Whether this server has pulled it from there; otherwise whoever uploaded it said so.
    source_pulled INTEGER NOT NULL,
    -- The name of the publisher then, and SHA-256 of the key in DER, hexadecimal; NULL where nobody signed it.
    publisher     TEXT,
    publisher_key TEXT,
    PRIMARY KEY (toolkit_id, version),
    FOREIGN KEY (toolkit_id, version) REFERENCES toolkit_versions (toolkit_id, version) ON DELETE CASCADE
) STRICT;

-- Toolkits whose versions a publisher has signed: no other version becomes live. Rows stay when their toolkit is removed, until an
-- operator resets them.
CREATE TABLE toolkit_publishers (
    toolkit_id    TEXT PRIMARY KEY NOT NULL,
    -- The name that the publisher had last.
    publisher     TEXT NOT NULL,
    publisher_key TEXT NOT NULL
) STRICT;

-- Publishers, whose signatures are verified.
CREATE TABLE publishers (
    name        TEXT PRIMARY KEY NOT NULL,
    -- SubjectPublicKeyInfo in DER, and its SHA-256, hexadecimal.
    public_key  BLOB NOT NULL,
    fingerprint TEXT NOT NULL UNIQUE,
    added_by    TEXT NOT NULL,
    added_at    INTEGER NOT NULL
) STRICT;

-- Pictures of versions whose icon is a URL, as they were when the version was deployed.
CREATE TABLE toolkit_icons (
    toolkit_id TEXT NOT NULL,
    version    TEXT NOT NULL,
    -- SHA-256 of the content, hexadecimal.
    digest     TEXT NOT NULL,
    -- Of the content, whatever its sender called it.
    media_type TEXT NOT NULL,
    content    BLOB NOT NULL,
    PRIMARY KEY (toolkit_id, version),
    FOREIGN KEY (toolkit_id, version) REFERENCES toolkit_versions (toolkit_id, version) ON DELETE CASCADE
) STRICT;

-- Components that were received and inspected, and wait for an operator to deploy or discard them. Their files have
-- the names of deployed ones.
CREATE TABLE toolkit_uploads (
    -- SHA-256 of the component, hexadecimal; the name of its file.
    digest      TEXT PRIMARY KEY NOT NULL,
    toolkit_id  TEXT NOT NULL,
    version     TEXT NOT NULL,
    size        INTEGER NOT NULL,
    -- manifest.json
    manifest    TEXT NOT NULL,
    -- The interfaces that it imports, without their versions: a JSON array.
    imports     TEXT NOT NULL,
    uploaded_by TEXT NOT NULL,
    uploaded_at INTEGER NOT NULL,
    -- As in `toolkit_provenance`.
    source      TEXT,
    source_digest TEXT,
    source_pulled INTEGER NOT NULL,
    publisher   TEXT,
    publisher_key TEXT
) STRICT;

-- What registries were asked for newer versions of toolkits that came from there, and what they said last.
CREATE TABLE registry_questions (
    toolkit_id   TEXT NOT NULL,
    -- Without a digest.
    reference    TEXT NOT NULL,
    asked_at     INTEGER NOT NULL,
    -- Why the answer could not be had, or used; NULL if it could.
    problem      TEXT,
    -- The reference to what is newer, or the same again, without the digest of its manifest, and that.
    newer        TEXT,
    newer_digest TEXT,
    -- SHA-256 of its component, hexadecimal, why it does not wait, and when it was pulled; NULL as long as it was not.
    component    TEXT,
    refusal      TEXT,
    pulled_at    INTEGER,
    -- Whether an operator has discarded it.
    discarded    INTEGER NOT NULL,
    PRIMARY KEY (toolkit_id, reference)
) STRICT;

-- Revisions of what processes cache: each process compares them before it serves a request. One row.
CREATE TABLE registry (
    -- Changes of what is live, of its owner, and of what is shown of it.
    generation INTEGER NOT NULL,
    -- Number of times that secrets of users were deleted with their toolkit, or because its owner changed.
    removals   INTEGER NOT NULL,
    -- Changes of collections, and of who may read them.
    collections INTEGER NOT NULL,
    -- Number of times that the access of a user was ended.
    user_ends  INTEGER NOT NULL
) STRICT;

INSERT INTO registry (generation, removals, collections, user_ends) VALUES (0, 0, 0, 0);

-- Secrets of users, sealed: what is here opens with the master key alone, and in its own row alone.
CREATE TABLE secrets (
    user_id     TEXT NOT NULL,
    toolkit_id  TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    -- Which master key wraps the record's own key.
    master_key  TEXT NOT NULL,
    -- Nonce, key, tag.
    wrapped_key BLOB NOT NULL,
    -- Nonce, value, tag.
    sealed      BLOB NOT NULL,
    updated_at  INTEGER NOT NULL,
    -- Of a value for everyone (the empty user id): 1 if it also applies to users who have set their own.
    overrides   INTEGER NOT NULL DEFAULT 0,
    -- Of a value for everyone: 1 if whoever set it agreed that the toolkit reads it.
    readable    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, toolkit_id, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX secrets_by_toolkit ON secrets (toolkit_id);

-- Who renews the tokens of an account at the moment: one process at a time.
CREATE TABLE account_refreshes (
    user_id     TEXT NOT NULL,
    toolkit_id  TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    -- Which attempt; another one takes its place if it does not end.
    holder      TEXT NOT NULL,
    PRIMARY KEY (user_id, toolkit_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX secrets_by_master_key ON secrets (master_key);

-- Revisions of the secrets of users who have ever set one.
CREATE TABLE secret_revisions (
    user_id  TEXT PRIMARY KEY NOT NULL,
    -- Changes that the user has made.
    revision INTEGER NOT NULL
) STRICT;

-- Links to pages of secrets that have set one. A row is deleted some time after its link has expired.
CREATE TABLE spent_links (
    -- SHA-256 of the link.
    digest  BLOB PRIMARY KEY,
    -- Seconds since 1970.
    expires INTEGER NOT NULL
) STRICT;

CREATE INDEX spent_links_by_expiry ON spent_links (expires);

-- Answers of users to questions of tools, on their way from the process that received them to the one whose call waits.
CREATE TABLE passed_answers (
    -- Hash of user, client and question.
    subject  TEXT PRIMARY KEY NOT NULL,
    -- Sealed for that process.
    answer   TEXT NOT NULL,
    -- Milliseconds since 1970.
    given_at INTEGER NOT NULL
) STRICT;

-- Calls that run, or have run, with an answer of their user: no state of theirs is good for another run. A row is deleted some
-- time after the last such state has expired.
CREATE TABLE asked_calls (
    -- Random; known to the states of the call alone.
    call_id  TEXT PRIMARY KEY NOT NULL,
    user_id  TEXT NOT NULL,
    -- Milliseconds since 1970; NULL until the call has ended.
    ended_at INTEGER,
    -- Sealed; NULL where it is not cached.
    result   TEXT,
    -- Seconds since 1970.
    expires  INTEGER NOT NULL
) STRICT;

CREATE INDEX asked_calls_by_user ON asked_calls (user_id, ended_at);
CREATE INDEX asked_calls_by_expiry ON asked_calls (expires);

-- What toolkits keep for their users between calls, sealed as secrets are. Any row may go at any time.
CREATE TABLE cached_values (
    user_id     TEXT NOT NULL,
    toolkit_id  TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    -- SHA-256 of the user, the toolkit, its owner and the key that the toolkit has chosen.
    digest      BLOB  NOT NULL,
    -- Bytes of key and value.
    size        INTEGER NOT NULL,
    written_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    -- As in `secrets`.
    master_key  TEXT NOT NULL,
    wrapped_key BLOB  NOT NULL,
    sealed      BLOB  NOT NULL,
    PRIMARY KEY (user_id, toolkit_id, digest)
) STRICT;

-- The order in which values make room for others, with all that this needs to know.
CREATE INDEX cached_values_by_age ON cached_values (user_id, toolkit_id, written_at, digest, size, expires_at);
CREATE INDEX cached_values_by_toolkit ON cached_values (toolkit_id);
CREATE INDEX cached_values_by_expiry ON cached_values (expires_at);

-- What users have set of the settings that toolkits declare.
CREATE TABLE user_config (
    user_id    TEXT NOT NULL,
    toolkit_id TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    key        TEXT NOT NULL,
    -- JSON
    value      TEXT NOT NULL,
    PRIMARY KEY (user_id, toolkit_id, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX user_config_by_toolkit ON user_config (toolkit_id);

-- Tools that users hide from models. It counts as a change of the registry.
CREATE TABLE hidden_tools (
    user_id    TEXT NOT NULL,
    -- Or `knowledge`, for the server's own tools. Rows go with their toolkit.
    toolkit_id TEXT NOT NULL,
    -- Empty for all of the toolkit.
    tool       TEXT NOT NULL,
    PRIMARY KEY (user_id, toolkit_id, tool)
) STRICT, WITHOUT ROWID;

CREATE INDEX hidden_tools_by_toolkit ON hidden_tools (toolkit_id);

-- For whom toolkits are, and how often they may call tools. It counts as a change of the registry.
CREATE TABLE toolkit_audience (
    toolkit_id  TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    -- A user or a group; both empty for everyone.
    user_id     TEXT NOT NULL,
    group_name  TEXT NOT NULL,
    -- Empty for all tools.
    tool        TEXT NOT NULL,
    -- Calls that are allowed; NULL for any number.
    per_minute  INTEGER,
    per_day     INTEGER,
    -- 1 where each member of a group may make as many.
    each_member INTEGER NOT NULL,
    shared_by   TEXT NOT NULL,
    -- Milliseconds since 1970.
    shared_at   INTEGER NOT NULL,
    PRIMARY KEY (toolkit_id, user_id, group_name, tool)
) STRICT, WITHOUT ROWID;

-- Calls that count towards limits: one row for each limit of each user, or of a group together.
CREATE TABLE limited_calls (
    -- Without a reference: a call does not wait for a change of its toolkit. Rows go with it.
    toolkit_id TEXT NOT NULL,
    -- Empty for all members of a group together.
    user_id    TEXT NOT NULL,
    -- Empty where the limit is none of a group.
    group_name TEXT NOT NULL,
    -- Empty for all tools.
    tool       TEXT NOT NULL,
    -- 'minute' or 'day'.
    period     TEXT NOT NULL,
    -- When it began: milliseconds since 1970.
    began      INTEGER NOT NULL,
    calls      INTEGER NOT NULL,
    PRIMARY KEY (toolkit_id, user_id, group_name, tool, period)
) STRICT, WITHOUT ROWID;

CREATE INDEX limited_calls_by_time ON limited_calls (began);

-- What users have agreed to that toolkits reach, each once: many users agree to the same.
CREATE TABLE agreed_reaches (
    -- SHA-256 of the reach, hexadecimal.
    digest TEXT PRIMARY KEY NOT NULL,
    -- JSON
    reach  TEXT NOT NULL
) STRICT;

-- Tools that may change something, and that code of the user may call all the same. Rows go with their toolkit, and when it is
-- taken over.
CREATE TABLE code_tools (
    user_id    TEXT NOT NULL,
    toolkit_id TEXT NOT NULL,
    tool       TEXT NOT NULL,
    allowed_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, toolkit_id, tool)
) STRICT, WITHOUT ROWID;

CREATE INDEX code_tools_by_toolkit ON code_tools (toolkit_id);

-- What each user has agreed to of a toolkit. Rows stay when their toolkit is removed or taken over: whoever deploys it
-- anew does not get what was agreed to with somebody else, or for something else.
CREATE TABLE consents (
    user_id    TEXT NOT NULL,
    toolkit_id TEXT NOT NULL,
    -- Who owned the toolkit then.
    owner      TEXT NOT NULL,
    digest     TEXT NOT NULL REFERENCES agreed_reaches (digest),
    -- The version that was live then.
    version    TEXT NOT NULL,
    agreed_at  INTEGER NOT NULL,
    -- 0 for who has called it and given it nothing: they are asked once it takes documents.
    given      INTEGER NOT NULL,
    PRIMARY KEY (user_id, toolkit_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX consents_by_toolkit ON consents (toolkit_id);

-- One row for each call that runs longer than a moment, until its record is written. One without a process is a call whose
-- process has ended: it gets a record, too.
CREATE TABLE running_calls (
    id          TEXT PRIMARY KEY NOT NULL,
    process     TEXT REFERENCES processes (id) ON DELETE SET NULL,
    toolkit_id  TEXT NOT NULL,
    version     TEXT NOT NULL,
    tool        TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    client      TEXT,
    key_id      TEXT,
    key_name    TEXT,
    account     TEXT,
    run         TEXT,
    started_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX running_calls_by_process ON running_calls (process);

-- One row for each call of a tool, written once the call has ended.
CREATE TABLE invocations (
    -- In the order in which the rows were committed, and never used again: readers follow it.
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Or `knowledge`, for the server's own tools. Rows go with their toolkit.
    toolkit_id  TEXT NOT NULL,
    version     TEXT NOT NULL,
    tool        TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    -- Through what the user called: an OAuth client, or the key of a program; neither in a browser.
    client      TEXT,
    key_id      TEXT,
    key_name    TEXT,
    -- The provider's name for the account that the toolkit used.
    account     TEXT,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    -- Microseconds.
    duration    INTEGER NOT NULL,
    -- succeeded, tool-error, …: each `Outcome`
    outcome     TEXT NOT NULL,
    -- The limit that ended the call.
    limit_hit   TEXT,
    -- Outbound requests, and the bytes of their bodies.
    requests    INTEGER NOT NULL,
    bytes_out   INTEGER NOT NULL,
    bytes_in    INTEGER NOT NULL,
    -- Bytes.
    result_size INTEGER NOT NULL,
    -- Entries beyond the budget.
    dropped     INTEGER NOT NULL,
    -- From here on: content, for the calling user alone. What the caller was not told.
    detail      TEXT,
    -- JSON; the data of a ToolError.
    data        TEXT,
    -- JSON array of { source, arguments }.
    entries     TEXT NOT NULL,
    -- Bytes that this row takes, about.
    size        INTEGER NOT NULL,
    -- Content, too. Names the run of code that the call is part of: that of the run itself, and those that it made.
    run         TEXT
) STRICT;

-- Covers what retention asks; `id` is in it for the order.
CREATE INDEX invocations_by_toolkit ON invocations (toolkit_id, id, size);
CREATE INDEX invocations_by_user ON invocations (toolkit_id, user_id, id, size, outcome, started_at);
CREATE INDEX invocations_by_age ON invocations (ended_at);
-- Failures of all toolkits are counted from this index alone; calls that succeed are not in it.
CREATE INDEX invocations_failed ON invocations (started_at, toolkit_id, outcome) WHERE outcome <> 'succeeded';

-- How much each toolkit was called, by the hour: written with the records, and kept longer than they are.
CREATE TABLE call_counts (
    -- In which calls began: hours since 1970.
    hour        INTEGER NOT NULL,
    -- As in `invocations`. Rows go with their toolkit.
    toolkit_id  TEXT NOT NULL,
    calls       INTEGER NOT NULL,
    -- Calls that gave no result, except cancelled ones.
    failures    INTEGER NOT NULL,
    -- Failures of calls that did not run: invalid-params, busy, over-limit, needs-consent.
    refused     INTEGER NOT NULL,
    -- Calls that ran, by their duration: the upper bound in milliseconds.
    took_10     INTEGER NOT NULL,
    took_25     INTEGER NOT NULL,
    took_50     INTEGER NOT NULL,
    took_100    INTEGER NOT NULL,
    took_250    INTEGER NOT NULL,
    took_500    INTEGER NOT NULL,
    took_1000   INTEGER NOT NULL,
    took_2500   INTEGER NOT NULL,
    took_5000   INTEGER NOT NULL,
    took_10000  INTEGER NOT NULL,
    took_30000  INTEGER NOT NULL,
    took_longer INTEGER NOT NULL,
    PRIMARY KEY (hour, toolkit_id)
) STRICT, WITHOUT ROWID;

-- When each user called a toolkit last, so that its users can be counted. Kept no longer than records.
CREATE TABLE toolkit_users (
    -- As in `invocations`. Rows go with their toolkit.
    toolkit_id TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    -- Hours since 1970.
    last_hour  INTEGER NOT NULL,
    PRIMARY KEY (toolkit_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX toolkit_users_by_hour ON toolkit_users (last_hour, toolkit_id);

-- Who did what, as entries that are appended and never changed. Those of one writer are a chain: the hash of each covers
-- its content and the hash of the one before it.
CREATE TABLE audit (
    -- In the order in which entries of one chain were committed, and never used again.
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The writer: `file`, or a process that uses a database server.
    chain       TEXT NOT NULL,
    -- From 1, without a gap within its chain.
    sequence    INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    -- Such as `toolkit.deployed`.
    act         TEXT NOT NULL,
    -- done, refused
    outcome     TEXT NOT NULL,
    -- The user who acted, as their id was then; empty for the server itself.
    actor       TEXT NOT NULL,
    -- The OAuth client, or the id of the key, that acted for the user.
    client      TEXT,
    program_key TEXT,
    toolkit     TEXT,
    version     TEXT,
    -- SHA-256 of the component, hexadecimal.
    digest      TEXT,
    -- Of a secret, a key, a session, a master key, or of the refused act.
    name        TEXT,
    -- The user whom the act concerns, where that is another one.
    affected    TEXT,
    -- SHA-256.
    hash        BLOB NOT NULL,
    UNIQUE (chain, sequence)
) STRICT;

CREATE INDEX audit_by_age ON audit (at);

-- Calls with their callers, for other systems, as far as the setting `record-callers` says: appended and never changed. One
-- chain of its own, `calls`, which has a row in `audit_chains`.
CREATE TABLE audit_calls (
    -- From 1, without a gap, in the order in which the rows were committed: readers follow it.
    sequence     INTEGER PRIMARY KEY NOT NULL,
    -- Id of the call. No other call ever has it.
    call         TEXT NOT NULL,
    -- When the call began, to the second.
    at           INTEGER NOT NULL,
    -- The user, as their id was then.
    actor        TEXT NOT NULL,
    -- The OAuth client, or the id of the key, that acted for the user.
    client       TEXT,
    program_key  TEXT,
    toolkit      TEXT NOT NULL,
    version      TEXT NOT NULL,
    tool         TEXT NOT NULL,
    -- Whom the provider says that the toolkit's account belongs to.
    account      TEXT,
    -- succeeded, tool-error, …: each `Outcome`
    outcome      TEXT NOT NULL,
    -- Upper bounds of ranges, NULL where nobody knows: bytes of the arguments and of the result, milliseconds.
    arguments    INTEGER,
    result       INTEGER,
    duration     INTEGER,
    -- SHA-256.
    hash         BLOB NOT NULL
) STRICT;

CREATE INDEX audit_calls_by_age ON audit_calls (at);

-- Where each chain of the audit log begins and ends.
CREATE TABLE audit_chains (
    chain        TEXT PRIMARY KEY NOT NULL,
    -- The last entry that was removed because of its age, its hash, and the latest time of all that were removed; 0 before the
    -- first one.
    removed      INTEGER NOT NULL,
    removed_hash BLOB NOT NULL,
    removed_at   INTEGER NOT NULL,
    -- The newest entry, and its hash.
    newest       INTEGER NOT NULL,
    newest_hash  BLOB NOT NULL,
    -- Of which master key the key of the seal is, and the HMAC over the columns above; empty where no key was at hand.
    seal_key     TEXT NOT NULL,
    seal         BLOB NOT NULL
) STRICT;

-- One row: which chains there are.
CREATE TABLE audit_log (
    -- When the first start began the log; 0 before it.
    begun_at INTEGER NOT NULL,
    -- As above: the HMAC over the time and the names of all chains.
    seal_key TEXT NOT NULL,
    seal     BLOB NOT NULL
) STRICT;

INSERT INTO audit_log (begun_at, seal_key, seal) VALUES (0, '', x'');

-- Whose `sub` the user ids of all other tables are: the last row counts.
CREATE TABLE issuers (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The identifier of an OpenID provider, letter for letter, or `local`.
    issuer   TEXT NOT NULL,
    since    INTEGER NOT NULL
) STRICT;

-- Clients that registered with the local issuer (RFC 7591).
CREATE TABLE oauth_clients (
    id            TEXT PRIMARY KEY NOT NULL,
    -- What the client calls itself, where it said so.
    name          TEXT,
    -- JSON array of strings.
    redirect_uris TEXT NOT NULL,
    -- When the client last obtained a refresh token, or else registered.
    used_at       INTEGER NOT NULL
) STRICT;

-- Consents that last beyond an access token. One refresh token of each is good, the newest: the id is
-- the part that all of them have in common, so an older one still finds its grant, and ends it. For
-- some minutes it is answered with the newest instead.
CREATE TABLE oauth_grants (
    id             TEXT PRIMARY KEY NOT NULL,
    client_id      TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
    user_id        TEXT NOT NULL,
    -- Separated by spaces.
    scopes         TEXT NOT NULL,
    -- SHA-256 of the newest refresh token.
    refresh_digest BLOB NOT NULL,
    -- Random; with a refresh token it gives the next one.
    seed           BLOB NOT NULL,
    -- When the refresh tokens before the newest were replaced: a JSON array, the latest first.
    replaced_at    TEXT NOT NULL DEFAULT '[]',
    -- Moves on with every refresh.
    expires_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX oauth_grants_by_client ON oauth_grants (client_id);

-- Users who have signed in, or whose access an operator has ended.
CREATE TABLE users (
    user_id       TEXT PRIMARY KEY NOT NULL,
    -- NULL for a user who has not signed in since this server records it.
    first_seen_at INTEGER,
    -- The last sign-in, to some minutes; NULL like first_seen_at. Later than ended_at if the user has signed in again.
    signed_in_at  INTEGER,
    -- The user's groups by the token of the last sign-in: a JSON list of names.
    groups        TEXT NOT NULL,
    -- Tokens that were issued until then are refused; NULL if nobody has ended the user's access.
    ended_at      INTEGER,
    -- The operator; empty for a command on this machine.
    ended_by      TEXT,
    CHECK ((ended_at IS NULL) = (ended_by IS NULL)),
    CHECK ((first_seen_at IS NULL) = (signed_in_at IS NULL))
) STRICT;

-- Users as the identity provider has provisioned them (SCIM).
CREATE TABLE scim_users (
    -- The id in SCIM: 32 hexadecimal digits.
    id            TEXT PRIMARY KEY NOT NULL,
    -- The id that the user's tokens carry, from the attribute that the setting `scim-user-id` names.
    user_id       TEXT NOT NULL UNIQUE,
    user_name     TEXT NOT NULL,
    -- The user name in lower case: providers compare it so.
    user_name_key TEXT NOT NULL UNIQUE,
    external_id   TEXT,
    is_active     INTEGER NOT NULL,
    -- The other attributes: a JSON object with names and addresses.
    attributes    TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    changed_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX scim_users_by_external_id ON scim_users (external_id);

-- Groups as the identity provider has provisioned them (SCIM).
CREATE TABLE scim_groups (
    -- The id in SCIM: 32 hexadecimal digits.
    id          TEXT PRIMARY KEY NOT NULL,
    -- The name that grants use.
    name        TEXT NOT NULL UNIQUE,
    external_id TEXT,
    created_at  INTEGER NOT NULL,
    changed_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX scim_groups_by_external_id ON scim_groups (external_id);

-- Members of these groups.
CREATE TABLE scim_members (
    group_id  TEXT NOT NULL REFERENCES scim_groups (id) ON DELETE CASCADE,
    member_id TEXT NOT NULL REFERENCES scim_users (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, member_id)
) STRICT;

CREATE INDEX scim_members_by_member ON scim_members (member_id);

-- Tokens of identity providers that provision users and groups (SCIM).
CREATE TABLE scim_tokens (
    -- SHA-256 of the token.
    digest     BLOB PRIMARY KEY,
    -- As the operators call it; one of a kind.
    name       TEXT NOT NULL UNIQUE,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- The last request, to the minute.
    used_at    INTEGER
) STRICT;

-- Keys of programs that act for a user.
CREATE TABLE program_keys (
    -- SHA-256 of the key.
    digest     BLOB PRIMARY KEY,
    -- Who knows the user by this id.
    issuer     TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    -- The client that its user has made it with; it goes when the user revokes that client.
    client_id  TEXT,
    -- As its user calls it; one of a kind among the user's keys.
    name       TEXT NOT NULL,
    -- The only toolkits whose tools it may call, separated by spaces; NULL where it may do what its user may.
    toolkits   TEXT,
    created_at INTEGER NOT NULL,
    -- NULL if it never does.
    expires_at INTEGER,
    -- The last request, to the minute.
    used_at    INTEGER
) STRICT;

CREATE INDEX program_keys_by_user ON program_keys (user_id);

-- Sessions of browsers on Kitbag's own pages.
CREATE TABLE browser_sessions (
    -- SHA-256 of the cookie's value.
    digest     BLOB PRIMARY KEY,
    -- Who knows the user by this id.
    issuer     TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    -- The browser's name for itself.
    agent      TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX browser_sessions_by_user ON browser_sessions (user_id, used_at);

-- What the provider has granted for a session.
CREATE TABLE browser_session_grants (
    digest        BLOB PRIMARY KEY REFERENCES browser_sessions (digest) ON DELETE CASCADE,
    -- When the access token expires.
    expires_at    INTEGER NOT NULL,
    -- The user's groups by that token: a JSON list of names.
    groups        TEXT NOT NULL,
    -- The refresh token, sealed by the vault; NULL where the provider has given none.
    master_key    TEXT,
    wrapped_key   BLOB,
    refresh_token BLOB
) STRICT;

-- Sessions whose refresh token a process is using: a provider accepts each once.
CREATE TABLE session_renewals (
    digest     BLOB PRIMARY KEY REFERENCES browser_session_grants (digest) ON DELETE CASCADE,
    -- By the clock of that process.
    claimed_at INTEGER NOT NULL
) STRICT;

-- Clients that this server has registered for its pages (RFC 7591).
CREATE TABLE web_clients (
    issuer        TEXT NOT NULL,
    redirect_uri  TEXT NOT NULL,
    client_id     TEXT NOT NULL,
    registered_at INTEGER NOT NULL,
    PRIMARY KEY (issuer, redirect_uri)
) STRICT;

-- The files to which rows refer: components of toolkits, and captured files. They are outside the database, in a folder or
-- in a bucket.
CREATE TABLE files (
    -- Where the file is. Never used again, so that a late deletion hits nothing that came after it.
    object     TEXT PRIMARY KEY NOT NULL,
    -- `components/` or `artifacts/`, and the SHA-256 of its bytes, as the rows have it that refer to it.
    name       TEXT NOT NULL,
    -- 0 while rows refer to it. Otherwise the earliest time at which it may be dropped; for one that is dropped, when to try
    -- again to delete it.
    kept_until INTEGER NOT NULL,
    -- Whether it is being deleted, and may not be referred to any more.
    dropped    INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX files_by_name ON files (name) WHERE NOT dropped;
CREATE INDEX files_to_end ON files (kept_until) WHERE kept_until > 0;

-- The processes that use the database.
CREATE TABLE processes (
    -- Random, and never used again.
    id           TEXT PRIMARY KEY NOT NULL,
    -- What jobs are done with: model and transcriber.
    job_settings TEXT NOT NULL,
    started_at   INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    -- When the process last reported.
    seen_at      INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    -- The release of its program, such as 1.4.
    release      TEXT NOT NULL DEFAULT '',
    -- The names of its master keys, separated by spaces. It seals with the first.
    master_keys  TEXT NOT NULL DEFAULT '',
    -- Fingerprints of the settings that all processes should have alike, by name: a JSON object.
    settings     TEXT NOT NULL DEFAULT '{}'
) STRICT;

-- One row.
CREATE TABLE service (
    -- The settings that all jobs were last adapted to; NULL before the first time.
    job_settings TEXT,
    -- The process that adapts them to others now.
    adapting     TEXT REFERENCES processes (id) ON DELETE SET NULL,
    -- The name of the store of files that all processes have; NULL before the first of several has named it.
    store        TEXT,
    -- The newest release that has changed the schema; NULL before a server has started.
    release      TEXT,
    -- Random, of the process that has started last; NULL before a server has started. Tells this database from an older copy
    -- of itself that was put in its place.
    last_start   TEXT
) STRICT;

INSERT INTO service (job_settings, adapting) VALUES (NULL, NULL);

-- The knowledge base. Every row names its holder, and every statement asks for it: `user:ana`, `collection:handbook`, or with
-- `bin/` before it, for what is deleted.

-- Documents that a team keeps.
CREATE TABLE collections (
    id          TEXT PRIMARY KEY NOT NULL,
    name        TEXT NOT NULL,
    description TEXT NOT NULL,
    created_by  TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    -- Who has deleted it, and when; NULL while it is there.
    deleted_by  TEXT,
    deleted_at  INTEGER
) STRICT;

CREATE INDEX collections_by_creator ON collections (created_by);

-- Who may read a collection, and who keeps it.
CREATE TABLE collection_grants (
    collection TEXT NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    -- A user or a group; both empty for everyone.
    user_id    TEXT NOT NULL,
    group_name TEXT NOT NULL,
    -- reader, curator
    role       TEXT NOT NULL,
    shared_by  TEXT NOT NULL,
    shared_at  INTEGER NOT NULL,
    PRIMARY KEY (collection, user_id, group_name)
) STRICT, WITHOUT ROWID;

-- Sub-groups of a source's documents.
CREATE TABLE feeds (
    id       INTEGER PRIMARY KEY,
    holder   TEXT NOT NULL,
    -- The id of the toolkit that ingests into it, or `user`.
    source   TEXT NOT NULL,
    -- The entity's stable id upstream.
    key      TEXT NOT NULL,
    name     TEXT NOT NULL,
    label    TEXT,
    -- What counts for the user's quota.
    bytes    INTEGER NOT NULL GENERATED ALWAYS AS (
        octet_length(key) + octet_length(name) + ifnull(octet_length(label), 0)) VIRTUAL,
    UNIQUE (holder, source, key)
) STRICT;

CREATE TABLE documents (
    -- What other tables hold. Never shown: it counts the documents of all users.
    sequence       INTEGER PRIMARY KEY AUTOINCREMENT,
    -- What everybody else sees.
    id             TEXT NOT NULL,
    holder         TEXT NOT NULL,
    -- In the order in which the user's documents came; cursors hold it.
    number         INTEGER NOT NULL,
    source         TEXT NOT NULL,
    feed_id        INTEGER REFERENCES feeds (id),
    -- What makes it the same document when it comes again, within its feed: `url …`, `file …` or
    -- `sha256 …`.
    identity       TEXT NOT NULL,
    -- SHA-256 of title and text as they were given: another one has the document indexed again.
    digest         BLOB NOT NULL,
    title          TEXT NOT NULL,
    -- 'given' by whoever ingested it, found in the 'file', or the 'file-name'.
    title_origin   TEXT NOT NULL DEFAULT 'given',
    -- The name of the file that was given as the title: people search for it, whatever title the file has.
    file_name      TEXT,
    url            TEXT,
    author         TEXT,
    -- The author in lower case, as filters compare it.
    author_folded  TEXT,
    -- The file to capture: its URL, and the media type that was claimed for it.
    file_url       TEXT,
    claimed_type   TEXT,
    capture_only   INTEGER NOT NULL,
    -- The captured file: SHA-256, bytes, and the media type that its bytes have.
    artifact       TEXT,
    artifact_size  INTEGER,
    artifact_type  TEXT,
    -- The character encoding that the file was read in.
    encoding       TEXT,
    -- pending, ready, failed
    state          TEXT NOT NULL,
    -- Which kind of job failed permanently, and why, for a person.
    failed_job     TEXT,
    reason         TEXT,
    -- What the server lacked, where that was it: transcriber, extractor. Once there is one, the file is
    -- captured after all.
    lacking        TEXT,
    -- Grows with each change of what is captured or indexed: work that was begun before is thrown away.
    revision       INTEGER NOT NULL,
    -- Users: who added it, and who changed it last.
    added_by       TEXT NOT NULL,
    changed_by     TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    -- When it went to the bin, and who deleted it; NULL while it is in no bin.
    deleted_at     INTEGER,
    deleted_by     TEXT,
    -- Number of its present text, and what earlier ones take.
    version        INTEGER NOT NULL DEFAULT 1,
    version_bytes  INTEGER NOT NULL DEFAULT 0,
    -- What counts for the user's quota: everything whose length a user chooses.
    bytes          INTEGER NOT NULL GENERATED ALWAYS AS (
        octet_length(identity) + octet_length(title) + octet_length(text)
        + ifnull(octet_length(url), 0) + ifnull(octet_length(author), 0)
        + ifnull(octet_length(author_folded), 0) + ifnull(octet_length(file_url), 0)
        + ifnull(octet_length(claimed_type), 0) + ifnull(octet_length(captured), 0)
        + ifnull(artifact_size, 0) + version_bytes) VIRTUAL,
    -- The body as it was given, and what was read from the captured file. Both are indexed. They stand last: whatever stands
    -- behind a long text is slow to read.
    text           TEXT NOT NULL,
    captured       TEXT
) STRICT;

-- Whoever asks for an id of another holder finds as much as for one that nobody has, and as fast.
CREATE UNIQUE INDEX documents_by_id ON documents (holder, id);
CREATE UNIQUE INDEX documents_by_identity ON documents (holder, source, COALESCE(feed_id, 0), identity)
    WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX documents_by_holder ON documents (holder, number);
CREATE INDEX documents_by_source ON documents (holder, source, number);
CREATE INDEX documents_by_state ON documents (holder, state, number);
CREATE INDEX documents_by_author ON documents (holder, author_folded) WHERE author_folded IS NOT NULL;
CREATE INDEX documents_by_feed ON documents (feed_id, number) WHERE feed_id IS NOT NULL;
CREATE INDEX documents_by_lack ON documents (lacking) WHERE lacking IS NOT NULL;
CREATE INDEX documents_by_deletion ON documents (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX documents_by_artifact ON documents (artifact) WHERE artifact IS NOT NULL;

-- Earlier texts of documents. Their files are not kept.
CREATE TABLE document_versions (
    document    INTEGER NOT NULL REFERENCES documents (sequence) ON DELETE CASCADE,
    -- From 1, in their order; some are missing.
    number      INTEGER NOT NULL,
    title       TEXT NOT NULL,
    -- From when to when it was the text, and who gave it.
    changed_at  INTEGER NOT NULL,
    replaced_at INTEGER NOT NULL,
    changed_by  TEXT NOT NULL,
    -- The body, and what was read from the file.
    text        TEXT NOT NULL,
    PRIMARY KEY (document, number)
) STRICT;

-- What is still to be done for a document: one job at a time.
CREATE TABLE knowledge_jobs (
    document  INTEGER PRIMARY KEY REFERENCES documents (sequence) ON DELETE CASCADE,
    holder    TEXT NOT NULL,
    -- capture, index, embed
    kind      TEXT NOT NULL,
    -- How often it failed; for a capture, how often it was begun.
    tries     INTEGER NOT NULL,
    -- Not before.
    run_at    INTEGER NOT NULL,
    -- The process that does the job. It is free again when that process has gone.
    taken_by  TEXT REFERENCES processes (id) ON DELETE SET NULL
) STRICT;

-- The users with free jobs of a kind, and the next job of each, are found by one step each.
CREATE INDEX knowledge_jobs_by_holder ON knowledge_jobs (kind, holder, run_at, document) WHERE taken_by IS NULL;
CREATE INDEX knowledge_jobs_taken ON knowledge_jobs (taken_by) WHERE taken_by IS NOT NULL;

-- Passages of documents, as search sees them.
CREATE TABLE chunks (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    holder    TEXT NOT NULL,
    document  INTEGER NOT NULL REFERENCES documents (sequence) ON DELETE CASCADE,
    -- From 0, within the document.
    position  INTEGER NOT NULL,
    -- The user's revision at which the row was written or got its vector.
    revision  INTEGER NOT NULL,
    -- Its words, counted; see `knowledge/words`.
    terms     BLOB NOT NULL,
    -- The embedding, as little-endian 32-bit floats, and the model that made it.
    vector    BLOB,
    model     TEXT
) STRICT;

CREATE INDEX chunks_by_revision ON chunks (holder, revision);
CREATE INDEX chunks_by_document ON chunks (document, position);
-- Finds what another model has embedded, or none.
CREATE INDEX chunks_by_model ON chunks (model, document);

-- The text of each chunk, apart: search reads all chunks of a user, but the text of few.
CREATE TABLE chunk_texts (
    chunk  INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    text   TEXT NOT NULL
) STRICT;

-- How often a user's chunks have changed: what keeps them in memory compares.
CREATE TABLE knowledge_revisions (
    holder    TEXT PRIMARY KEY NOT NULL,
    revision  INTEGER NOT NULL,
    -- How often chunks went away.
    removals  INTEGER NOT NULL
) STRICT;

-- What each user's documents take, kept by the statements that change them: whatever changes a document
-- changes this in the same transaction.
CREATE TABLE knowledge_usage (
    holder     TEXT PRIMARY KEY NOT NULL,
    documents  INTEGER NOT NULL,
    -- Those of documents and of feeds: each user's in full, also where the same file is kept once for several.
    bytes      INTEGER NOT NULL
) STRICT;

CREATE TRIGGER documents_usage_insert AFTER INSERT ON documents BEGIN
    INSERT INTO knowledge_usage (holder, documents, bytes) VALUES (NEW.holder, 1, NEW.bytes)
    ON CONFLICT (holder) DO UPDATE SET documents = documents + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER documents_usage_delete AFTER DELETE ON documents BEGIN
    UPDATE knowledge_usage SET documents = documents - 1, bytes = bytes - OLD.bytes WHERE holder = OLD.holder;
END;

CREATE TRIGGER documents_usage_update AFTER UPDATE ON documents
WHEN OLD.holder <> NEW.holder OR OLD.bytes <> NEW.bytes BEGIN
    UPDATE knowledge_usage SET documents = documents - 1, bytes = bytes - OLD.bytes WHERE holder = OLD.holder;
    INSERT INTO knowledge_usage (holder, documents, bytes) VALUES (NEW.holder, 1, NEW.bytes)
    ON CONFLICT (holder) DO UPDATE SET documents = documents + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER feeds_usage_insert AFTER INSERT ON feeds BEGIN
    INSERT INTO knowledge_usage (holder, documents, bytes) VALUES (NEW.holder, 0, NEW.bytes)
    ON CONFLICT (holder) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER feeds_usage_delete AFTER DELETE ON feeds BEGIN
    UPDATE knowledge_usage SET bytes = bytes - OLD.bytes WHERE holder = OLD.holder;
END;

CREATE TRIGGER feeds_usage_update AFTER UPDATE ON feeds
WHEN OLD.holder <> NEW.holder OR OLD.bytes <> NEW.bytes BEGIN
    UPDATE knowledge_usage SET bytes = bytes - OLD.bytes WHERE holder = OLD.holder;
    INSERT INTO knowledge_usage (holder, documents, bytes) VALUES (NEW.holder, 0, NEW.bytes)
    ON CONFLICT (holder) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
