// The contract's imports, as the engine offers them, behind the same interface as a test's world.
import { getDocument, ingest, log, progress, search, secret } from "kitbag:toolkit";

import { knowledgeError } from "../knowledge.js";
import type { KnowledgeError, Platform } from "../platform.js";
import { ToolError } from "../tool-error.js";

export const sandboxPlatform: Platform = {
  log,
  progress: (report) => progress(report.progress, report.total, report.message),
  secret: (name) => {
    try {
      return secret(name) ?? undefined;
    } catch (error) {
      const why = variant<{ tag: string; val?: string }>(error);
      if (why?.tag !== "unavailable") throw error;
      throw new ToolError(`The credential ${name} cannot be read now: ${why.val}`, { retryable: true });
    }
  },
  fetch: (input, init) => fetch(input, init),
  search: (query, options) => asking(() => search(query, options)),
  getDocument: (id) => asking(() => getDocument(id)),
  ingest: (docs) => asking(() => ingest(docs)),
};

function asking<T>(question: () => T): T {
  try {
    return question();
  } catch (error) {
    const why = variant<KnowledgeError>(error);
    throw why === undefined ? error : knowledgeError(why);
  }
}

/** The error value of a function of the contract; nothing for what is thrown otherwise. */
function variant<T>(error: unknown): T | undefined {
  return typeof error === "object" && error !== null && "tag" in error ? (error as T) : undefined;
}
