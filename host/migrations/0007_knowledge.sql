-- The knowledge base. Every row names its user, and every statement asks for it.

-- Sub-groups of a source's documents.
CREATE TABLE feeds (
    id       INTEGER PRIMARY KEY,
    user_id  TEXT NOT NULL,
    -- The id of the toolkit that ingests into it, or `user`.
    source   TEXT NOT NULL,
    -- The entity's stable id upstream.
    key      TEXT NOT NULL,
    name     TEXT NOT NULL,
    label    TEXT,
    UNIQUE (user_id, source, key)
);

CREATE TABLE documents (
    -- In the order in which documents came; cursors and other tables hold it.
    sequence       INTEGER PRIMARY KEY AUTOINCREMENT,
    -- What everybody else sees.
    id             TEXT NOT NULL UNIQUE,
    user_id        TEXT NOT NULL,
    source         TEXT NOT NULL,
    feed_id        INTEGER REFERENCES feeds (id),
    -- What makes it the same document when it comes again, within its feed: `url …` or `sha256 …`.
    identity       TEXT NOT NULL,
    title          TEXT NOT NULL,
    url            TEXT,
    author         TEXT,
    -- The author in lower case, as filters compare it.
    author_folded  TEXT,
    -- What is indexed: as it was given, or as it was read from the captured file.
    text           TEXT NOT NULL,
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
    -- Why it failed, for a person.
    reason         TEXT,
    -- Grows with each change of what is captured or indexed: work that was begun before is thrown away.
    revision       INTEGER NOT NULL,
    -- Milliseconds since 1970, UTC.
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
);

CREATE UNIQUE INDEX documents_by_identity ON documents (user_id, source, ifnull(feed_id, 0), identity);
CREATE INDEX documents_by_user ON documents (user_id, sequence);
CREATE INDEX documents_by_source ON documents (user_id, source, sequence);
CREATE INDEX documents_by_author ON documents (user_id, author_folded) WHERE author_folded IS NOT NULL;
CREATE INDEX documents_by_feed ON documents (feed_id) WHERE feed_id IS NOT NULL;
CREATE INDEX documents_by_artifact ON documents (artifact) WHERE artifact IS NOT NULL;

-- What is still to be done for a document: one job at a time.
CREATE TABLE knowledge_jobs (
    document  INTEGER PRIMARY KEY REFERENCES documents (sequence) ON DELETE CASCADE,
    user_id   TEXT NOT NULL,
    -- capture, index, embed
    kind      TEXT NOT NULL,
    tries     INTEGER NOT NULL,
    -- Not before; milliseconds since 1970, UTC.
    run_at    INTEGER NOT NULL
);

CREATE INDEX knowledge_jobs_by_kind ON knowledge_jobs (kind, user_id, document);

-- Passages of documents, as search sees them.
CREATE TABLE chunks (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id   TEXT NOT NULL,
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
);

CREATE INDEX chunks_by_revision ON chunks (user_id, revision);
CREATE INDEX chunks_by_document ON chunks (document, position);

-- The text of each chunk, apart: search reads all chunks of a user, but the text of few.
CREATE TABLE chunk_texts (
    chunk  INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    text   TEXT NOT NULL
);

-- How often a user's chunks have changed: what keeps them in memory compares.
CREATE TABLE knowledge_revisions (
    user_id   TEXT PRIMARY KEY,
    revision  INTEGER NOT NULL,
    -- How often chunks went away.
    removals  INTEGER NOT NULL
);
