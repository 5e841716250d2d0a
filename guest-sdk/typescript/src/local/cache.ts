// In-memory cache of a user.
import type { CacheResult } from "../platform.js";
import { problemLines } from "../problems.js";
import { host, type CacheEntry, type Problems } from "./host.js";

/** Value in an in-memory cache. */
export interface CachedValue {
  value: string;
  /** Time of expiry, in milliseconds since 1970. */
  expires: number;
}

/** Values by key, in the order of writing. */
export type Cached = Map<string, CachedValue>;

/**
 * Returns the host functions of a cache that stores its values in `cached`. `changed` is told of each change; without a
 * value, the key was removed.
 */
export function cacheIn(cached: Cached, changed: (key: string, entry: CachedValue | undefined) => void) {
  const remove = (key: string) => {
    if (cached.delete(key)) changed(key, undefined);
  };
  return {
    cached: (key: string): CacheResult<string | undefined> => {
      const found = cached.get(key);
      const answer = host("cache-get", { key, expires: found && time(found.expires), now: now() });
      return checked(answer, ({ isFound }) => (isFound ? found?.value : undefined));
    },
    cache: (key: string, value: string, seconds: number | undefined): CacheResult<void> => {
      const entries = entriesOf(cached).filter((entry) => entry.key !== key);
      return checked(host("cache-set", { key, value, seconds, now: now(), entries }), ({ expires, evicted }) => {
        put(cached, key, { value, expires });
        changed(key, { value, expires });
        evicted.forEach(remove);
      });
    },
    removeCached: (key: string): CacheResult<void> => checked(host("cache-key", { key }), () => remove(key)),
  };
}

/** Stores a value of another cache, and evicts expired values and the oldest ones that exceed the limits. */
export function keep(cached: Cached, key: string, entry: CachedValue): void {
  put(cached, key, entry);
  for (const other of host("cache-evicted", { entries: entriesOf(cached), now: now() }).evicted) cached.delete(other);
}

/** Puts a value at the end of the order of writing. */
function put(cached: Cached, key: string, entry: CachedValue): void {
  cached.delete(key);
  cached.set(key, entry);
}

function entriesOf(cached: Cached): CacheEntry[] {
  const byteLength = (text: string) => new TextEncoder().encode(text).length;
  return [...cached].map(([key, { value, expires }]) => ({ key, bytes: byteLength(key) + byteLength(value), expires: time(expires) }));
}

function now(): number {
  return time(Date.now());
}

/** Returns a time as the host takes it: a test may give any number. */
function time(milliseconds: number): number {
  return Math.trunc(Math.max(Number.MIN_SAFE_INTEGER, Math.min(milliseconds, Number.MAX_SAFE_INTEGER)));
}

function checked<Answer extends object, T>(answer: Answer | Problems, use: (answer: Answer) => T): CacheResult<T> {
  if ("problems" in answer) return { error: { tag: "invalid", val: problemLines(answer.problems) } };
  return { value: use(answer) };
}
