import { knowledgeError } from "../knowledge.js";
import type { KnowledgeError, Platform } from "../platform.js";
import { ToolError } from "../tool-error.js";
import type { SvcDocument, SvcDocumentSummary, SvcIngestDoc, SvcSearchResult } from "../types.js";
import { decoded } from "./content-encoding.js";

/** The imports that the declaration grants; the entry that the builder writes passes no others. */
export interface Imports {
  log(args: string[]): void;
  progress(progress: number, total: number | undefined, message: string | undefined): void;
  secret?(name: string): string | undefined;
  search?(query: string, options: object): WitSearchResult[];
  getDocument?(id: string): { summary: SvcDocumentSummary; text: string };
  ingest?(docs: object[]): number;
  /** Present where `egress` is not empty. */
  fetch?(input: string | Request, init?: RequestInit): Promise<Response>;
}

interface WitSearchResult {
  document: SvcDocumentSummary;
  snippet: string;
  score: number;
}

/** Brings the contract's imports behind the same interface as a test's world. */
export function sandboxPlatform(imports: Imports): Platform {
  return {
    log: (args) => imports.log(args),
    progress: ({ progress, total, message }) => imports.progress(progress, total, message),
    secret: (name) => {
      try {
        return imports.secret?.(name) ?? undefined;
      } catch (error) {
        const why = payload<{ tag: string; val?: string }>(error);
        if (why?.tag !== "unavailable") throw error;
        throw new ToolError(`The credential ${name} cannot be read now: ${why.val}`, { retryable: true });
      }
    },
    fetch: async (input, init) => decoded(await imports.fetch!(input, init)),
    search: (query, { limit, source, author }) => {
      const found = asking(() => imports.search!(query, { limit, source, author }));
      return found.map(({ document, snippet, score }): SvcSearchResult => ({ document: present(document), snippet, score }));
    },
    getDocument: (id) => {
      const { summary, text } = asking(() => imports.getDocument!(id));
      return { ...present(summary), text } as SvcDocument;
    },
    ingest: (docs) => asking(() => imports.ingest!(docs.map(witDocument))),
  };
}

function witDocument(doc: SvcIngestDoc): object {
  return { ...doc, captureOnly: doc.captureOnly === true };
}

function asking<T>(question: () => T): T {
  try {
    return question();
  } catch (error) {
    const why = payload<KnowledgeError>(error);
    throw why === undefined ? error : knowledgeError(why);
  }
}

/** The error value of a WIT function, which arrives wrapped in an exception. */
function payload<T>(error: unknown): T | undefined {
  return typeof error === "object" && error !== null && "payload" in error ? (error.payload as T) : undefined;
}

/** An absent option arrives as a member that is `undefined`; a test's world has no such member. */
function present<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined && value !== null)) as T;
}
