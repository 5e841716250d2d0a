// In-memory cache with the server's rules and limits.
import type { CacheResult } from "../platform.js";
import { problemLines, type Problem } from "../problems.js";
import { cacheProblems, limitsOfCalls } from "../rules.js";

/** Value in an in-memory cache. */
export interface CachedValue {
  value: string;
  /** Time of expiry, in milliseconds since 1970. */
  expires: number;
}

/** Values by key, in the order of writing. */
export type Cached = Map<string, CachedValue>;

/** Returns the host functions of a cache that stores its values in `cached`. */
export function cacheIn(cached: Cached) {
  return {
    cached: (key: string): CacheResult<string | undefined> => {
      return checked(cacheProblems(key), () => {
        const found = cached.get(key);
        return found === undefined || isOver(found) ? undefined : found.value;
      });
    },
    cache: (key: string, value: string, seconds: number | undefined): CacheResult<void> => {
      return checked(cacheProblems(key, value, seconds), () => {
        const age = (seconds ?? limitsOfCalls().cacheSeconds) * 1000;
        keep(cached, key, { value, expires: Date.now() + age });
      });
    },
    removeCached: (key: string): CacheResult<void> => {
      return checked(cacheProblems(key), () => void cached.delete(key));
    },
  };
}

/** Stores a value, and evicts expired values and the oldest ones that exceed the limits. */
export function keep(cached: Cached, key: string, entry: CachedValue): void {
  cached.delete(key);
  cached.set(key, entry);
  const { cacheBytes, cacheValues } = limitsOfCalls();
  let bytes = 0;
  let values = 0;
  for (const [key, entry] of [...cached].reverse()) {
    bytes += byteLength(key) + byteLength(entry.value);
    values += 1;
    if (bytes > cacheBytes || values > cacheValues || isOver(entry)) cached.delete(key);
  }
}

function isOver({ expires }: CachedValue): boolean {
  return expires <= Date.now();
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function checked<T>(problems: Problem[], action: () => T): CacheResult<T> {
  if (problems.length > 0) return { error: { tag: "invalid", val: problemLines(problems) } };
  return { value: action() };
}
