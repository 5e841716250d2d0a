-- Where the title of a document comes from.

-- 'given' by whoever ingested it, found in the 'file', or the 'file-name'.
ALTER TABLE documents ADD COLUMN title_origin TEXT NOT NULL DEFAULT 'given';
