import type { Progress, SvcDocument, SvcIngestDoc, SvcSearchOptions, SvcSearchResult } from "./types.js";

/** The host functions behind a `ToolContext`. The sandbox has one implementation, tests have another. */
export interface Platform {
  /** Appends an entry to the log; each argument is JSON text. */
  log(args: string[]): void;
  progress(report: Progress): void;
  /** Returns the value of a declared credential; `undefined` if the user has not set it. */
  secret(name: string): string | undefined;
  /** Sends a request, if the declaration's `egress` allows it; any exception is a network error. */
  fetch(input: string | Request, init: RequestInit | undefined): Promise<Response>;
  search(query: string, options: SvcSearchOptions): SvcSearchResult[] | Promise<SvcSearchResult[]>;
  getDocument(id: string): SvcDocument | Promise<SvcDocument>;
  /** Asks the user; `schema` is JSON text. Throws an `askError`. Without an answer the run ends, and nothing resolves. */
  ask(key: string, message: string, schema: string): AskReply | Promise<AskReply>;
  /** Stores the documents and returns their number. */
  ingest(docs: SvcIngestDoc[]): number | Promise<number>;
  /** Returns the cached value; `undefined` if there is none. */
  cached(key: string): CacheResult<string | undefined>;
  cache(key: string, value: string, seconds: number | undefined): CacheResult<void>;
  removeCached(key: string): CacheResult<void>;
}

/** Result of a cache request: a value or an error. */
export type CacheResult<T> = { value: T } | { error: CacheError };

/** One call, as received from the host. */
export interface Invocation {
  userId: string;
  config: Record<string, unknown>;
}

/** Outcome of a question: the variant `answer` of the WIT contract, with the fields as JSON text. */
export type AskReply = { tag: "accepted"; val: string } | { tag: "declined" } | { tag: "cancelled" };

/** An error of the knowledge base: the variant `knowledge-error` of the WIT contract. */
export type KnowledgeError = { tag: "not-found" } | { tag: "invalid"; val: string } | { tag: "unavailable"; val: string };

/** An error of the cache: the variant `cache-error` of the WIT contract. */
export type CacheError = { tag: "invalid"; val: string } | { tag: "unavailable"; val: string };
