import type { KnowledgeError, Platform } from "./platform.js";
import { notFound, refused as refusalText, unavailable, undeclaredScope } from "./texts.js";
import { ToolError } from "./tool-error.js";
import type { SvcClient, SvcIngestDoc, SvcSearchOptions } from "./types.js";

/** Returns `ctx.svc`, the client of the calling user's knowledge base; `undefined` if no scope of it is declared. */
export function knowledgeClient(scopes: readonly string[], platform: Platform): SvcClient | undefined {
  const mayRead = scopes.includes("svc:search");
  const mayWrite = scopes.includes("svc:ingest");
  if (!mayRead && !mayWrite) return undefined;
  return {
    search: async (query, options) => {
      requireScope(mayRead, "svc:search");
      checkText("query", query);
      const { limit, source, author } = options ?? {};
      checkLimit(limit);
      checkOptionalText("source", source);
      checkOptionalText("author", author);
      return platform.search(query, withoutNulls({ limit, source, author }));
    },
    getDocument: async (id) => {
      requireScope(mayRead, "svc:search");
      checkText("id", id);
      return platform.getDocument(id);
    },
    ingest: async (docs) => {
      requireScope(mayWrite, "svc:ingest");
      if (!Array.isArray(docs)) throw refused("documents: must be a list");
      docs.forEach((doc, index) => checkTypes(`documents[${index}]`, doc));
      return { ingested: await platform.ingest(docs) };
    },
  };
}

/** Returns the `ToolError` for an error of the knowledge base. */
export function knowledgeError(error: KnowledgeError): ToolError {
  switch (error.tag) {
    case "not-found":
      return new ToolError(notFound());
    case "invalid":
      return refused(error.val);
    case "unavailable":
      return new ToolError(unavailable(error.val), { retryable: true });
  }
}

function refused(reason: string): ToolError {
  return new ToolError(refusalText(reason));
}

function requireScope(granted: boolean, scope: string): void {
  if (!granted) throw refused(undeclaredScope(scope));
}

function withoutNulls(options: SvcSearchOptions): SvcSearchOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value != null));
}

function checkText(path: string, value: unknown): void {
  if (typeof value !== "string") throw refused(`${path}: must be a string`);
}

const MAX_U32 = 2 ** 32 - 1;

/** Checks that the limit fits the type in the WIT contract; the knowledge base checks the allowed range. */
function checkLimit(limit: unknown): void {
  if (limit === undefined || limit === null) return;
  const isU32 = Number.isInteger(limit) && (limit as number) >= 0 && (limit as number) <= MAX_U32;
  if (!isU32) throw refused("limit: must be an unsigned 32-bit integer");
}

const OPTIONAL_TEXTS = ["text", "url", "author", "fileUrl", "audioUrl", "mimeType"] as const;

/** Checks types: a value that is not a string must not be sent as the string "undefined". */
function checkTypes(path: string, doc: SvcIngestDoc): void {
  if (typeof doc !== "object" || doc === null) throw refused(`${path}: must be an object`);
  checkText(`${path}.title`, doc.title);
  for (const key of OPTIONAL_TEXTS) checkOptionalText(`${path}.${key}`, doc[key]);
  if (doc.feed == null) return;
  checkText(`${path}.feed.key`, doc.feed.key);
  checkText(`${path}.feed.name`, doc.feed.name);
  checkOptionalText(`${path}.feed.label`, doc.feed.label);
}

function checkOptionalText(path: string, value: unknown): void {
  if (value !== undefined && value !== null) checkText(path, value);
}
