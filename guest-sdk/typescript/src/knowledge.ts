import type { KnowledgeError, Platform } from "./platform.js";
import { ToolError } from "./tool-error.js";
import type { SvcClient, SvcIngestDoc, SvcSearchOptions } from "./types.js";

/** Returns the client of the calling user's knowledge base, where a scope grants one. */
export function knowledgeClient(scopes: readonly string[], platform: Platform): SvcClient | undefined {
  const mayRead = scopes.includes("svc:search");
  const mayWrite = scopes.includes("svc:ingest");
  if (!mayRead && !mayWrite) return undefined;
  return {
    search: async (query, options) => {
      needs(mayRead, "svc:search");
      text("query", query);
      const { limit, source, author } = options ?? {};
      checkLimit(limit);
      optionalText("source", source);
      optionalText("author", author);
      return platform.search(query, given({ limit, source, author }));
    },
    getDocument: async (id) => {
      needs(mayRead, "svc:search");
      text("id", id);
      return platform.getDocument(id);
    },
    ingest: async (docs) => {
      needs(mayWrite, "svc:ingest");
      if (!Array.isArray(docs)) throw refused("documents: must be a list");
      docs.forEach((doc, index) => checkTypes(`documents[${index}]`, doc));
      return { ingested: await platform.ingest(docs) };
    },
  };
}

/** What the model reads of an error of the knowledge base. */
export function knowledgeError(error: KnowledgeError): ToolError {
  switch (error.tag) {
    case "not-found":
      return new ToolError("There is no such document.");
    case "invalid":
      return refused(error.val);
    case "unavailable":
      return new ToolError(`The knowledge base is not available: ${error.val}`, { retryable: true });
  }
}

function refused(why: string): ToolError {
  return new ToolError(`The knowledge base refused the request: ${why}`);
}

function needs(granted: boolean, scope: string): void {
  if (!granted) throw refused(`the toolkit does not declare the scope ${scope}`);
}

/** Leaves out what is undefined or null. */
function given(options: SvcSearchOptions): SvcSearchOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value != null));
}

function text(path: string, value: unknown): void {
  if (typeof value !== "string") throw refused(`${path}: must be a string`);
}

/** As the server's MAX_RESULTS; test/build/knowledge-parity.test.mjs asks both for one more. */
const MAX_LIMIT = 50;

function checkLimit(limit: unknown): void {
  if (limit === undefined || limit === null) return;
  if (!Number.isInteger(limit)) throw refused("limit: must be a whole number");
  if ((limit as number) < 1 || (limit as number) > MAX_LIMIT) throw refused(`limit: is ${limit}, and may be 1 to ${MAX_LIMIT}`);
}

const OPTIONAL_TEXTS = ["text", "url", "author", "fileUrl", "audioUrl", "mimeType"] as const;

/** What is no text must not travel as the text "undefined". */
function checkTypes(path: string, doc: SvcIngestDoc): void {
  if (typeof doc !== "object" || doc === null) throw refused(`${path}: must be an object`);
  text(`${path}.title`, doc.title);
  for (const key of OPTIONAL_TEXTS) optionalText(`${path}.${key}`, doc[key]);
  if (doc.feed == null) return;
  text(`${path}.feed.key`, doc.feed.key);
  text(`${path}.feed.name`, doc.feed.name);
  optionalText(`${path}.feed.label`, doc.feed.label);
}

function optionalText(path: string, value: unknown): void {
  if (value !== undefined && value !== null) text(path, value);
}
