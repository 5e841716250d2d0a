// The engine's native module for the capabilities of the WIT contract: engine/src/sandbox/capabilities.rs.
declare module "kitbag:toolkit" {
  import type { AskReply } from "../platform.js";
  import type { SvcDocument, SvcIngestDoc, SvcSearchOptions, SvcSearchResult } from "../types.js";

  /** Each argument is JSON text. */
  export function log(args: string[]): void;
  export function progress(progress: number, total: number | undefined, message: string | undefined): void;
  /** Throws `{ tag: "undeclared" }` or `{ tag: "unavailable", val }`. */
  export function secret(name: string): string | undefined;
  /** This function and the next two throw a `KnowledgeError`. */
  export function search(query: string, options: SvcSearchOptions): SvcSearchResult[];
  export function getDocument(id: string): SvcDocument;
  /** Throws an `AskError`. */
  export function ask(key: string, message: string, schema: string): AskReply;
  export function ingest(docs: SvcIngestDoc[]): number;
  /** This function and the next two throw a `CacheError`. */
  export function cached(key: string): string | undefined;
  export function cache(key: string, value: string, seconds: number | undefined): void;
  export function removeCached(key: string): void;
}
