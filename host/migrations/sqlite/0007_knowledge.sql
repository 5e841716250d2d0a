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
    -- What other tables hold. Never shown: it counts the documents of all users.
    sequence       INTEGER PRIMARY KEY AUTOINCREMENT,
    -- What everybody else sees.
    id             TEXT NOT NULL,
    user_id        TEXT NOT NULL,
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
    -- Which kind of job failed for good, and why, for a person.
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
    -- The body as it was given, and what was read from the captured file. Both are indexed. They stand
    -- last: whatever stands behind a long text is slow to read.
    text           TEXT NOT NULL,
    captured       TEXT
);

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

-- What is still to be done for a document: one job at a time.
CREATE TABLE knowledge_jobs (
    document  INTEGER PRIMARY KEY REFERENCES documents (sequence) ON DELETE CASCADE,
    user_id   TEXT NOT NULL,
    -- capture, index, embed
    kind      TEXT NOT NULL,
    -- How often it failed; for a capture, how often it was begun.
    tries     INTEGER NOT NULL,
    -- Not before; milliseconds since 1970, UTC.
    run_at    INTEGER NOT NULL
);

-- The users with jobs of a kind, and the next job of each, are found by one step each.
CREATE INDEX knowledge_jobs_by_user ON knowledge_jobs (kind, user_id, run_at);

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
-- Finds what another model has embedded, or none.
CREATE INDEX chunks_by_model ON chunks (model, document);

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
