import type { SvcDocument, SvcIngestDoc } from "../types.js";

/** What a search finds of an ingested document; nothing is captured here. */
export function document(doc: SvcIngestDoc, source: string, index: number): SvcDocument {
  const { title, text = "", url, author, feed } = doc;
  return { id: `dev-${index + 1}`, title, text, source, ...(url && { url }), ...(author && { author }), ...(feed && { feed: feed.name }) };
}

/** Keeps what a call ingested: the same URL, or else the same text, is the same document. */
export function keep(documents: SvcDocument[], ingested: SvcIngestDoc[], source: string): void {
  for (const doc of ingested) {
    const same = documents.findIndex((it) => it.source === source && (doc.url === undefined ? it.url === undefined && it.title === doc.title && it.text === (doc.text ?? "") : it.url === doc.url));
    if (same === -1) documents.push(document(doc, source, documents.length));
    else documents[same] = document(doc, source, same);
  }
}
