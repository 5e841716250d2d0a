import type { SvcDocument, SvcIngestDoc } from "../types.js";

/** Returns an ingested document as searches find it. Files are not captured. */
export function storedDocument(doc: SvcIngestDoc, source: string, index: number): SvcDocument {
  const { title, text = "", url, author, feed } = doc;
  return { id: `dev-${index + 1}`, title, text, source, ...(url && { url }), ...(author && { author }), ...(feed && { feed: feed.name }) };
}

/**
 * Stores ingested documents. One with the same URL, or without URL the same title and text, replaces the old
 * one.
 */
export function storeDocuments(documents: SvcDocument[], ingested: SvcIngestDoc[], source: string): void {
  for (const doc of ingested) {
    const same = documents.findIndex((it) => it.source === source && (doc.url === undefined ? it.url === undefined && it.title === doc.title && it.text === (doc.text ?? "") : it.url === doc.url));
    if (same === -1) documents.push(storedDocument(doc, source, documents.length));
    else documents[same] = storedDocument(doc, source, same);
  }
}
