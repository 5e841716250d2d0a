-- One row for each call of a tool, written once the call has ended.
CREATE TABLE invocations (
    -- In the order in which the rows were committed, and never used again: readers follow it.
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    toolkit_id  TEXT NOT NULL REFERENCES toolkits (id) ON DELETE CASCADE,
    version     TEXT NOT NULL,
    tool        TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    -- Milliseconds since 1970, UTC.
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    -- Microseconds.
    duration    INTEGER NOT NULL,
    -- succeeded, tool-error, invalid-params, failed, deadline, limit, cancelled, busy, unavailable
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
    size        INTEGER NOT NULL
) STRICT;

-- Covers what retention asks; `id` is in it for the order.
CREATE INDEX invocations_by_toolkit ON invocations (toolkit_id, id, size);
CREATE INDEX invocations_by_user ON invocations (toolkit_id, user_id, id);
CREATE INDEX invocations_by_age ON invocations (ended_at);
