// In-memory knowledge base of a user.
import { knowledgeError } from "../knowledge.js";
import { problemLines } from "../problems.js";
import type { SvcDocument, SvcIngestDoc, SvcSearchOptions, SvcSearchResult } from "../types.js";
import { host, type Problems } from "./host.js";

/** Documents, as plain data. */
export interface Library {
  documents: SvcDocument[];
  /** Key of each document that a toolkit has ingested: the next one with the same key replaces it. */
  keys: (string | null)[];
}

/** Returns a knowledge base with these documents. */
export function libraryOf(documents: readonly SvcDocument[] = []): Library {
  return { documents: [...documents], keys: documents.map(() => null) };
}

/** Returns the documents that contain any word of the query; throws a `ToolError` for a search that breaks a rule. */
export function searchDocuments({ documents }: Library, query: string, { limit, source, author }: SvcSearchOptions): SvcSearchResult[] {
  const searched = documents.map((it) => ({ title: it.title, text: it.text, source: it.source, author: it.author }));
  const { hits } = valid(host("search", { documents: searched, search: { query, limit, source, author } }));
  return hits.map(({ index, snippet, score }) => {
    const { text: _, ...document } = documents[index]!;
    return { document, snippet, score };
  });
}

/** Stores a batch of documents; throws a `ToolError` that lists all its problems. */
export function ingestInto({ documents, keys }: Library, ingested: readonly SvcIngestDoc[], source: string, secrets: Iterable<string>): void {
  // As in the sandbox, only `true` counts, and an absent member is the same as null.
  const batch = ingested.map((doc) => ({ ...doc, captureOnly: doc.captureOnly === true }));
  const { placed } = valid(host("ingest", { source, keys, documents: batch, secrets: [...secrets] }));
  for (const { index, key, document } of placed) {
    documents[index] = document;
    keys[index] = key;
  }
}

function valid<Answer extends object>(answer: Answer | Problems): Answer {
  if ("problems" in answer) throw knowledgeError({ tag: "invalid", val: problemLines(answer.problems) });
  return answer;
}
