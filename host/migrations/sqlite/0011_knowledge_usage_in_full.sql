-- Usage counts everything of a document and of a feed whose length a user chooses. Each table has one
-- expression for it: a virtual column, which takes no room in the row.
DROP TRIGGER documents_usage_insert;
DROP TRIGGER documents_usage_delete;
DROP TRIGGER documents_usage_update;

ALTER TABLE documents ADD COLUMN bytes INTEGER NOT NULL GENERATED ALWAYS AS (
    octet_length(identity) + octet_length(title) + octet_length(text)
    + ifnull(octet_length(url), 0) + ifnull(octet_length(author), 0) + ifnull(octet_length(author_folded), 0)
    + ifnull(octet_length(file_url), 0) + ifnull(octet_length(claimed_type), 0)
    + ifnull(octet_length(captured), 0) + ifnull(artifact_size, 0)) VIRTUAL;

ALTER TABLE feeds ADD COLUMN bytes INTEGER NOT NULL GENERATED ALWAYS AS (
    octet_length(key) + octet_length(name) + ifnull(octet_length(label), 0)) VIRTUAL;

DELETE FROM knowledge_usage;
INSERT INTO knowledge_usage (user_id, documents, bytes)
SELECT user_id, SUM(documents), SUM(bytes) FROM (
    SELECT user_id, 1 AS documents, bytes FROM documents UNION ALL SELECT user_id, 0, bytes FROM feeds)
GROUP BY user_id;

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
