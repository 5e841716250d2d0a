import { checkedDocuments, type CheckedDocument } from "../rules.js";
import type { SvcDocument, SvcIngestDoc } from "../types.js";

/** Deduplication keys of the ingested documents. */
const keys = new WeakMap<SvcDocument, string>();

/**
 * Stores ingested documents as a server does: a document replaces an earlier one of its feed with the same key. Files
 * are not captured.
 */
export function storeDocuments(documents: SvcDocument[], ingested: readonly SvcIngestDoc[], source: string): void {
  for (const checked of checkedDocuments(ingested).documents ?? []) {
    const key = JSON.stringify([source, checked.feed?.key, checked.identity]);
    const same = documents.findIndex((it) => keys.get(it) === key);
    const index = same === -1 ? documents.length : same;
    const stored = storedDocument(checked, source, index);
    keys.set(stored, key);
    documents[index] = stored;
  }
}

/** Returns a document in the form in which searches return it. */
function storedDocument({ title, text, url, author, feed }: CheckedDocument, source: string, index: number): SvcDocument {
  return { id: `dev-${index + 1}`, title, text, source, ...(url && { url }), ...(author && { author }), ...(feed && { feed: feed.name }) };
}
