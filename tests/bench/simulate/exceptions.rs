//! Statements that are allowed to read a whole table that grows.

/// Part of a statement, the table, and the reason why it is allowed.
pub(crate) type Exception = (&'static str, &'static str, &'static str);

/// All exceptions.
pub(crate) const EXCEPTIONS: [Exception; 8] = [
    ("SELECT t.id, t.owner, v.version", "toolkits", REGISTRY),
    ("SELECT t.id, t.owner, v.version", "toolkit_versions", REGISTRY),
    ("SELECT t.id, v.manifest FROM toolkits", "toolkits", LIST),
    ("SELECT id FROM toolkits WHERE id IN", "toolkits", LIST),
    (
        "INSERT INTO toolkits",
        "toolkit_activations",
        "SQLite also tells what would be done if the id of a toolkit changed, which it never does",
    ),
    (
        "FROM knowledge_jobs GROUP BY kind",
        "knowledge_jobs",
        "metrics: counts what waits, every five seconds at most",
    ),
    ("WITH RECURSIVE users", "knowledge_jobs", "a step for each user who has something that waits"),
    (
        "DELETE FROM browser_sessions WHERE created_at",
        "browser_sessions",
        "each sign-in removes the sessions of everybody that are over",
    ),
];

const REGISTRY: &str = "the registry is what is live: it is read after each deploy";
const LIST: &str =
    "PostgreSQL takes any list for a hundred values, and seeks them where there are more toolkits";
