// Host functions in the sandbox: the WIT imports, through the engine's native module `kitbag:toolkit`.
import { ask, cache, cached, getDocument, ingest, log, progress, removeCached, search, secret } from "kitbag:toolkit";

import { askError, type AskError } from "../ask.js";
import { knowledgeError } from "../knowledge.js";
import type { CacheError, CacheResult, KnowledgeError, Platform } from "../platform.js";
import { credentialUnavailable } from "../texts.js";
import { ToolError } from "../tool-error.js";

export const sandboxPlatform: Platform = {
  log,
  progress: (report) => progress(report.progress, report.total, report.message),
  secret: (name) => {
    try {
      return secret(name) ?? undefined;
    } catch (error) {
      const witError = errorVariant<{ tag: string; val?: string }>(error);
      if (witError?.tag !== "unavailable") throw error;
      throw new ToolError(credentialUnavailable(name, witError.val ?? ""), { retryable: true });
    }
  },
  fetch: (input, init) => fetch(input, init),
  search: (query, options) => withToolErrors(() => search(query, options)),
  getDocument: (id) => withToolErrors(() => getDocument(id)),
  ingest: (docs) => withToolErrors(() => ingest(docs)),
  ask: (key, message, schema) => {
    try {
      return ask(key, message, schema);
    } catch (error) {
      const witError = errorVariant<AskError>(error);
      throw witError === undefined ? error : askError(witError);
    }
  },
  cached: (key) => cacheResult(() => cached(key) ?? undefined),
  cache: (key, value, seconds) => cacheResult(() => cache(key, value, seconds)),
  removeCached: (key) => cacheResult(() => removeCached(key)),
};

/** Runs a cache request; returns its value, or a thrown `CacheError`. */
function cacheResult<T>(action: () => T): CacheResult<T> {
  try {
    return { value: action() };
  } catch (error) {
    const witError = errorVariant<CacheError>(error);
    if (witError === undefined) throw error;
    return { error: witError };
  }
}

/** Converts a thrown `KnowledgeError` to a `ToolError`. */
function withToolErrors<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    const witError = errorVariant<KnowledgeError>(error);
    throw witError === undefined ? error : knowledgeError(witError);
  }
}

/** Returns a thrown value if it is an error variant of the WIT contract. */
function errorVariant<T>(error: unknown): T | undefined {
  return typeof error === "object" && error !== null && "tag" in error ? (error as T) : undefined;
}
