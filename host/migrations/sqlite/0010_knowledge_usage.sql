-- What each user's documents take, kept by the statements that change them: whatever changes a document
-- changes this in the same transaction.
CREATE TABLE knowledge_usage (
    user_id    TEXT PRIMARY KEY,
    documents  INTEGER NOT NULL,
    -- Titles and texts, what was read from captured files, and the files: each user's in full, also where
    -- the same file is kept once for several.
    bytes      INTEGER NOT NULL
);

INSERT INTO knowledge_usage (user_id, documents, bytes)
SELECT user_id, COUNT(*), SUM(octet_length(title) + octet_length(text)
    + ifnull(octet_length(captured), 0) + ifnull(artifact_size, 0))
FROM documents GROUP BY user_id;

CREATE TRIGGER documents_usage_insert AFTER INSERT ON documents BEGIN
    INSERT INTO knowledge_usage (user_id, documents, bytes)
    VALUES (NEW.user_id, 1, octet_length(NEW.title) + octet_length(NEW.text)
        + ifnull(octet_length(NEW.captured), 0) + ifnull(NEW.artifact_size, 0))
    ON CONFLICT (user_id) DO UPDATE SET documents = documents + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER documents_usage_delete AFTER DELETE ON documents BEGIN
    UPDATE knowledge_usage SET documents = documents - 1, bytes = bytes - (octet_length(OLD.title)
        + octet_length(OLD.text) + ifnull(octet_length(OLD.captured), 0) + ifnull(OLD.artifact_size, 0))
    WHERE user_id = OLD.user_id;
END;

CREATE TRIGGER documents_usage_update AFTER UPDATE OF user_id, title, text, captured, artifact_size
ON documents BEGIN
    UPDATE knowledge_usage SET documents = documents - 1, bytes = bytes - (octet_length(OLD.title)
        + octet_length(OLD.text) + ifnull(octet_length(OLD.captured), 0) + ifnull(OLD.artifact_size, 0))
    WHERE user_id = OLD.user_id;
    INSERT INTO knowledge_usage (user_id, documents, bytes)
    VALUES (NEW.user_id, 1, octet_length(NEW.title) + octet_length(NEW.text)
        + ifnull(octet_length(NEW.captured), 0) + ifnull(NEW.artifact_size, 0))
    ON CONFLICT (user_id) DO UPDATE SET documents = documents + 1, bytes = bytes + excluded.bytes;
END;
