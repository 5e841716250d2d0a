-- The character encoding that the file of a document was read in.

ALTER TABLE documents ADD COLUMN encoding TEXT;
