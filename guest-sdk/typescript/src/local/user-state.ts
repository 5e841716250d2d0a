// What a user has between calls, and how calls change it.
import type { SvcDocument, SvcIngestDoc } from "../types.js";
import { keep, type Cached, type CachedValue } from "./cache.js";
import { ingestInto, libraryOf, type Library } from "./documents.js";

/** State of one user, as plain data: `kitbag dev` copies it into the thread of each call. */
export interface UserState {
  cache: Cached;
  library: Library;
}

/** A change that a call has made, as plain data. */
export type Change =
  /** A cached value was set; without `entry` it was removed. */
  | { kind: "cached"; key: string; entry: CachedValue | undefined }
  | { kind: "ingested"; documents: SvcIngestDoc[] };

/** Returns the state of a user with these documents and cached values. */
export function userState({ documents, cache = new Map() }: { documents?: readonly SvcDocument[] | undefined; cache?: Cached | undefined } = {}): UserState {
  return { cache, library: libraryOf(documents) };
}

/** Makes the change of a call of the toolkit `source` to the state of its user. */
export function applyChange({ cache, library }: UserState, change: Change, source: string, secrets: Iterable<string>): void {
  if (change.kind === "ingested") ingestInto(library, change.documents, source, secrets);
  else if (change.entry === undefined) cache.delete(change.key);
  else keep(cache, change.key, change.entry);
}
