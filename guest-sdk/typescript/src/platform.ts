import type { Progress, SvcDocument, SvcIngestDoc, SvcSearchOptions, SvcSearchResult } from "./types.js";

/** The host behind a `ToolContext`: one of the sandbox, one of a test. */
export interface Platform {
  /** Appends an entry of several JSON texts. */
  log(args: string[]): void;
  progress(report: Progress): void;
  /** Reads a credential that the declaration lists. */
  secret(name: string): string | undefined;
  /** Sends a request that the declaration's `egress` lets through; what it throws is a network error. */
  fetch(input: string | Request, init: RequestInit | undefined): Promise<Response>;
  search(query: string, options: SvcSearchOptions): SvcSearchResult[] | Promise<SvcSearchResult[]>;
  getDocument(id: string): SvcDocument | Promise<SvcDocument>;
  /** Stores the documents and returns how many. */
  ingest(docs: SvcIngestDoc[]): number | Promise<number>;
}

/** One call, as it comes from the host. */
export interface Invocation {
  userId: string;
  config: Record<string, unknown>;
}

/** Why the knowledge base did not do what was asked, as the contract tells the kinds apart. */
export type KnowledgeError = { tag: "not-found" } | { tag: "invalid"; val: string } | { tag: "unavailable"; val: string };
