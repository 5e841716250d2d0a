-- All tables are strict: a column holds values of its own type, as in other engines. A table cannot be made
-- strict, so each is copied, and the copy takes its name; references and counters of ids go with it.
PRAGMA defer_foreign_keys = ON;

CREATE TABLE feeds_strict (
    id       INTEGER PRIMARY KEY,
    user_id  TEXT NOT NULL,
    -- The id of the toolkit that ingests into it, or `user`.
    source   TEXT NOT NULL,
    -- The entity's stable id upstream.
    key      TEXT NOT NULL,
    name     TEXT NOT NULL,
    label    TEXT,
    -- What counts for the user's quota.
    bytes    INTEGER NOT NULL GENERATED ALWAYS AS (
        octet_length(key) + octet_length(name) + ifnull(octet_length(label), 0)) VIRTUAL,
    UNIQUE (user_id, source, key)
) STRICT;

INSERT INTO feeds_strict (id, user_id, source, key, name, label)
SELECT id, user_id, source, key, name, label FROM feeds;

CREATE TABLE documents_strict (
    -- What other tables hold. Never shown: it counts the documents of all users.
    sequence       INTEGER PRIMARY KEY AUTOINCREMENT,
    -- What everybody else sees.
    id             TEXT NOT NULL,
    user_id        TEXT NOT NULL,
    -- In the order in which the user's documents came; cursors hold it.
    number         INTEGER NOT NULL,
    source         TEXT NOT NULL,
    feed_id        INTEGER REFERENCES feeds_strict (id),
    -- What makes it the same document when it comes again, within its feed: `url …`, `file …` or
    -- `sha256 …`.
    identity       TEXT NOT NULL,
    -- SHA-256 of title and text as they were given: another one has the document indexed again.
    digest         BLOB NOT NULL,
    title          TEXT NOT NULL,
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
    -- Milliseconds since 1970, UTC.
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    -- What counts for the user's quota: everything whose length a user chooses.
    bytes          INTEGER NOT NULL GENERATED ALWAYS AS (
        octet_length(identity) + octet_length(title) + octet_length(text)
        + ifnull(octet_length(url), 0) + ifnull(octet_length(author), 0)
        + ifnull(octet_length(author_folded), 0) + ifnull(octet_length(file_url), 0)
        + ifnull(octet_length(claimed_type), 0) + ifnull(octet_length(captured), 0)
        + ifnull(artifact_size, 0)) VIRTUAL,
    -- The body as it was given, and what was read from the captured file. Both are indexed. They stand
    -- last: whatever stands behind a long text is slow to read.
    text           TEXT NOT NULL,
    captured       TEXT
) STRICT;

-- Ids that were given once are not given again, nor is it forgotten that there were documents.
INSERT INTO sqlite_sequence (name, seq)
SELECT 'documents_strict', seq FROM sqlite_sequence WHERE name = 'documents';

INSERT INTO documents_strict (sequence, id, user_id, number, source, feed_id, identity, digest, title, url,
    author, author_folded, file_url, claimed_type, capture_only, artifact, artifact_size, artifact_type, state,
    failed_job, reason, lacking, revision, created_at, updated_at, text, captured)
SELECT sequence, id, user_id, number, source, feed_id, identity, digest, title, url,
    author, author_folded, file_url, claimed_type, capture_only, artifact, artifact_size, artifact_type, state,
    failed_job, reason, lacking, revision, created_at, updated_at, text, captured
FROM documents;

-- An empty copy counts as well: that there never was a document is known by there being no counter.
DELETE FROM sqlite_sequence WHERE name = 'documents_strict' AND ifnull(seq, 0) = 0;

CREATE TABLE knowledge_jobs_strict (
    document  INTEGER PRIMARY KEY REFERENCES documents_strict (sequence) ON DELETE CASCADE,
    user_id   TEXT NOT NULL,
    -- capture, index, embed
    kind      TEXT NOT NULL,
    -- How often it failed; for a capture, how often it was begun.
    tries     INTEGER NOT NULL,
    -- Not before; milliseconds since 1970, UTC.
    run_at    INTEGER NOT NULL
) STRICT;

INSERT INTO knowledge_jobs_strict SELECT document, user_id, kind, tries, run_at FROM knowledge_jobs;

CREATE TABLE chunks_strict (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id   TEXT NOT NULL,
    document  INTEGER NOT NULL REFERENCES documents_strict (sequence) ON DELETE CASCADE,
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

INSERT INTO sqlite_sequence (name, seq)
SELECT 'chunks_strict', seq FROM sqlite_sequence WHERE name = 'chunks';

INSERT INTO chunks_strict (id, user_id, document, position, revision, terms, vector, model)
SELECT id, user_id, document, position, revision, terms, vector, model FROM chunks;

CREATE TABLE chunk_texts_strict (
    chunk  INTEGER PRIMARY KEY REFERENCES chunks_strict (id) ON DELETE CASCADE,
    text   TEXT NOT NULL
) STRICT;

INSERT INTO chunk_texts_strict (chunk, text) SELECT chunk, text FROM chunk_texts;

CREATE TABLE knowledge_revisions_strict (
    user_id   TEXT PRIMARY KEY NOT NULL,
    revision  INTEGER NOT NULL,
    -- How often chunks went away.
    removals  INTEGER NOT NULL
) STRICT;

INSERT INTO knowledge_revisions_strict SELECT user_id, revision, removals FROM knowledge_revisions;

CREATE TABLE knowledge_usage_strict (
    user_id    TEXT PRIMARY KEY NOT NULL,
    documents  INTEGER NOT NULL,
    -- Those of documents and of feeds: each user's in full, also where the same file is kept once for several.
    bytes      INTEGER NOT NULL
) STRICT;

INSERT INTO knowledge_usage_strict SELECT user_id, documents, bytes FROM knowledge_usage;

-- Those that refer to others first: nothing is left that a table could take with it.
DROP TABLE chunk_texts;
DROP TABLE chunks;
DROP TABLE knowledge_jobs;
DROP TABLE documents;
DROP TABLE feeds;
DROP TABLE knowledge_revisions;
DROP TABLE knowledge_usage;

ALTER TABLE feeds_strict RENAME TO feeds;
ALTER TABLE documents_strict RENAME TO documents;
ALTER TABLE knowledge_jobs_strict RENAME TO knowledge_jobs;
ALTER TABLE chunks_strict RENAME TO chunks;
ALTER TABLE chunk_texts_strict RENAME TO chunk_texts;
ALTER TABLE knowledge_revisions_strict RENAME TO knowledge_revisions;
ALTER TABLE knowledge_usage_strict RENAME TO knowledge_usage;

-- Whoever asks for an id of another user finds as much as for one that nobody has, and as fast.
CREATE UNIQUE INDEX documents_by_id ON documents (user_id, id);
CREATE UNIQUE INDEX documents_by_identity ON documents (user_id, source, ifnull(feed_id, 0), identity);
CREATE UNIQUE INDEX documents_by_user ON documents (user_id, number);
CREATE INDEX documents_by_source ON documents (user_id, source, number);
CREATE INDEX documents_by_state ON documents (user_id, state, number);
CREATE INDEX documents_by_author ON documents (user_id, author_folded) WHERE author_folded IS NOT NULL;
CREATE INDEX documents_by_feed ON documents (feed_id, number) WHERE feed_id IS NOT NULL;
CREATE INDEX documents_by_lack ON documents (lacking) WHERE lacking IS NOT NULL;
CREATE INDEX documents_by_artifact ON documents (artifact) WHERE artifact IS NOT NULL;
-- The users with jobs of a kind, and the next job of each, are found by one step each.
CREATE INDEX knowledge_jobs_by_user ON knowledge_jobs (kind, user_id, run_at);
CREATE INDEX chunks_by_revision ON chunks (user_id, revision);
CREATE INDEX chunks_by_document ON chunks (document, position);
-- Finds what another model has embedded, or none.
CREATE INDEX chunks_by_model ON chunks (model, document);

CREATE TRIGGER documents_usage_insert AFTER INSERT ON documents BEGIN
    INSERT INTO knowledge_usage (user_id, documents, bytes) VALUES (NEW.user_id, 1, NEW.bytes)
    ON CONFLICT (user_id) DO UPDATE SET documents = documents + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER documents_usage_delete AFTER DELETE ON documents BEGIN
    UPDATE knowledge_usage SET documents = documents - 1, bytes = bytes - OLD.bytes WHERE user_id = OLD.user_id;
END;

CREATE TRIGGER documents_usage_update AFTER UPDATE ON documents
WHEN OLD.user_id <> NEW.user_id OR OLD.bytes <> NEW.bytes BEGIN
    UPDATE knowledge_usage SET documents = documents - 1, bytes = bytes - OLD.bytes WHERE user_id = OLD.user_id;
    INSERT INTO knowledge_usage (user_id, documents, bytes) VALUES (NEW.user_id, 1, NEW.bytes)
    ON CONFLICT (user_id) DO UPDATE SET documents = documents + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER feeds_usage_insert AFTER INSERT ON feeds BEGIN
    INSERT INTO knowledge_usage (user_id, documents, bytes) VALUES (NEW.user_id, 0, NEW.bytes)
    ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER feeds_usage_delete AFTER DELETE ON feeds BEGIN
    UPDATE knowledge_usage SET bytes = bytes - OLD.bytes WHERE user_id = OLD.user_id;
END;

CREATE TRIGGER feeds_usage_update AFTER UPDATE ON feeds
WHEN OLD.user_id <> NEW.user_id OR OLD.bytes <> NEW.bytes BEGIN
    UPDATE knowledge_usage SET bytes = bytes - OLD.bytes WHERE user_id = OLD.user_id;
    INSERT INTO knowledge_usage (user_id, documents, bytes) VALUES (NEW.user_id, 0, NEW.bytes)
    ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
