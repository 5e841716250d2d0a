// Error texts that handlers see, from the crate kitbag-manifest.
import { entryFor, text } from "#handler-rules";

/** Returns the error text for a URL whose host `egress` does not list. Names the entry to add. */
export function notListed(url: URL): string {
  return text("not-listed", [entryFor(url)]);
}

/** Returns the error text for a document id that the knowledge base does not have. */
export function notFound(): string {
  return text("not-found", []);
}

/** Returns the error text for a request that the knowledge base refused. */
export function refused(reason: string): string {
  return text("refused", [reason]);
}

/** Returns the error text for a knowledge base that is temporarily unavailable. */
export function unavailable(reason: string): string {
  return text("unavailable", [reason]);
}

/** Returns the reason for refusing a request whose scope the toolkit does not declare. */
export function undeclaredScope(scope: string): string {
  return text("undeclared-scope", [scope]);
}

/** Returns the error text for a client that does not support forms (elicitation in form mode). */
export function askUnsupported(): string {
  return text("ask-unsupported", []);
}

/** Returns the log text for a question that breaks a rule. */
export function askRefused(reason: string): string {
  return text("ask-refused", [reason]);
}

/** Returns the error text for an answer that does not fit its question. */
export function answerUnfit(key: string, reason: string): string {
  return text("answer-unfit", [key, reason]);
}

/** Returns the error text for a credential that the user has not set. */
export function credentialNotSet(toolkit: string, name: string): string {
  return text("credential-not-set", [toolkit, name]);
}

/** Returns the error text for a credential that is temporarily unavailable. */
export function credentialUnavailable(name: string, reason: string): string {
  return text("credential-unavailable", [name, reason]);
}

/** Returns the log text for a credential that the toolkit does not declare. */
export function credentialUndeclared(name: string): string {
  return text("credential-undeclared", [name]);
}

/** Returns the message for a structured value that does not fit `output`. */
export function outputMismatch(violations: string[]): string {
  return text("output-mismatch", violations);
}

/** Returns the message for a value that fits none of several branches, from the message of each. */
export function describeChoices(messages: string[], branches: number): string {
  return text("choices", [String(branches), ...messages]);
}

/** Adds to a violation that its branch is the closest of `of` branches. */
export function closest(line: string, of: number): string {
  return text("closest", [line, String(of)]);
}

/** Returns the message for a value that is none of the expected constants. */
export function notOneOf(constants: readonly unknown[]): string {
  // Constants that JSON cannot express are converted to text.
  return text("not-one-of", constants.map((it) => (typeof it === "bigint" ? String(it) : (JSON.stringify(it) ?? String(it)))));
}

/** Returns the log text for a cache request that breaks a rule, a mistake of the author. */
export function cacheRefused(reason: string): string {
  return text("cache-refused", [reason]);
}

/** Returns the error text for a cache that is temporarily unavailable. */
export function cacheUnavailable(reason: string): string {
  return text("cache-unavailable", [reason]);
}

/** Returns the log text for a value that the cache did not store. */
export function notKept(reason: string): string {
  return text("not-kept", [reason]);
}
