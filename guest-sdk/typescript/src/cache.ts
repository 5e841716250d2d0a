import { logArgument } from "./log.js";
import type { CacheError, CacheResult, Platform } from "./platform.js";
import { cacheRefused, cacheUnavailable, notKept, undeclaredScope } from "./texts.js";
import { ToolError } from "./tool-error.js";
import type { ToolCache } from "./types.js";

const LONE_SURROGATE = /\p{Surrogate}/u;
const MAX_U32 = 2 ** 32 - 1;

/** Returns `ctx.cache`, the toolkit's cache for the calling user. */
export function cacheClient(scopes: readonly string[], platform: Platform): ToolCache {
  const check = (key: unknown) => {
    if (!scopes.includes("svc:cache")) throw refused(undeclaredScope("svc:cache"));
    checkText("key", key);
  };
  return {
    get: async (key) => {
      check(key);
      return valueOf(platform.cached(key));
    },
    set: async (key, value, options) => {
      check(key);
      checkText("value", value);
      const seconds = options?.seconds ?? undefined;
      if (seconds !== undefined) checkSeconds(seconds);
      const result = platform.cache(key, value, seconds);
      if ("error" in result && result.error.tag === "unavailable") platform.log([logArgument(notKept(result.error.val))]);
      else valueOf(result);
    },
    delete: async (key) => {
      check(key);
      valueOf(platform.removeCached(key));
    },
  };
}

function valueOf<T>(result: CacheResult<T>): T {
  if ("error" in result) throw errorOf(result.error);
  return result.value;
}

function errorOf({ tag, val }: CacheError): Error {
  return tag === "unavailable" ? new ToolError(cacheUnavailable(val), { retryable: true }) : refused(val);
}

function refused(reason: string): Error {
  return new Error(cacheRefused(reason));
}

/** Rejects lone surrogates and values that are not strings: surrogates would become U+FFFD, and different keys equal. */
function checkText(path: string, value: unknown): void {
  if (typeof value !== "string") throw refused(`${path}: must be a string`);
  if (LONE_SURROGATE.test(value)) throw refused(`${path}: has half of a character (a lone surrogate)`);
}

/** Checks that the lifetime fits the type in the WIT contract; the cache checks the allowed range. */
function checkSeconds(seconds: unknown): void {
  const isU32 = Number.isInteger(seconds) && (seconds as number) >= 0 && (seconds as number) <= MAX_U32;
  if (!isU32) throw refused("seconds: must be a whole number, at most 2592000 (30 days)");
}
