// A cache in memory that applies the server's rules and bounds.
import type { CacheResult } from "../platform.js";
import { problemLines, type Problem } from "../problems.js";
import { cacheProblems, limitsOfCalls } from "../rules.js";

/** A value of a cache in memory. */
export interface CachedValue {
  value: string;
  /** When its time is over: milliseconds since 1970. */
  expires: number;
}

/** Values by key, in the order in which they were written. */
export type Cached = Map<string, CachedValue>;

/** Returns the functions of the cache with these values. */
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

/** Keeps a value. Those whose time is over make room for it, and the oldest that are too many. */
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
