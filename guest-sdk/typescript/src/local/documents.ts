// A knowledge base in memory, behind the same rules.
import { knowledgeError } from "../knowledge.js";
import type { SvcDocument, SvcIngestDoc, SvcSearchOptions, SvcSearchResult } from "../types.js";

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 50;
/** How much of a document's text a match shows. */
const SNIPPET = 200;

/** Finds the documents that hold any word of the query; the score is the part of the words they hold. */
export function searchDocuments(documents: SvcDocument[], query: string, options: SvcSearchOptions): SvcSearchResult[] {
  const { limit = DEFAULT_LIMIT, source, author } = options;
  if (limit < 1 || limit > MAX_LIMIT) {
    throw knowledgeError({ tag: "invalid", val: `limit: must be between 1 and ${MAX_LIMIT}` });
  }
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return documents
    .filter((document) => source === undefined || document.source === source)
    .filter((document) => author === undefined || document.author?.toLowerCase() === author.toLowerCase())
    .map(({ text, ...document }) => {
      const held = `${document.title} ${text}`.toLowerCase();
      const score = words.filter((word) => held.includes(word)).length / words.length;
      return { document, snippet: text.slice(0, SNIPPET), score };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}

/** Says which rule a document breaks, and where. */
export function documentProblem(path: string, doc: SvcIngestDoc): string | undefined {
  const blank = (text: string | undefined) => text === undefined || text === null || text.trim() === "";
  const hasFile = doc.fileUrl != null || doc.audioUrl != null;
  if (blank(doc.title)) return `${path}.title: must not be empty`;
  if (doc.captureOnly === true && !hasFile) {
    return `${path}.captureOnly: needs fileUrl or audioUrl: there is nothing to capture`;
  }
  if (!hasFile && blank(doc.text)) return `${path}.text: is required where there is neither fileUrl nor audioUrl`;
  if (doc.feed != null && blank(doc.feed.key)) return `${path}.feed.key: must not be empty`;
  if (doc.feed != null && blank(doc.feed.name)) return `${path}.feed.name: must not be empty`;
  return undefined;
}
