// The error texts that handlers see, from the crate kitbag-manifest.
import { entryFor, text } from "#handler-rules";

/** `egress` does not list the host of a URL; names the entry to add. */
export function notListed(url: URL): string {
  return text("not-listed", [entryFor(url)]);
}

/** The knowledge base has no such document. */
export function notFound(): string {
  return text("not-found", []);
}

/** The knowledge base refused a request. */
export function refused(reason: string): string {
  return text("refused", [reason]);
}

/** The knowledge base cannot answer now. */
export function unavailable(reason: string): string {
  return text("unavailable", [reason]);
}

/** The reason of a refusal: the toolkit does not declare the scope. */
export function undeclaredScope(scope: string): string {
  return text("undeclared-scope", [scope]);
}

/** Whoever calls cannot be asked. */
export function askUnsupported(): string {
  return text("ask-unsupported", []);
}

/** A question breaks a rule. */
export function askRefused(reason: string): string {
  return text("ask-refused", [reason]);
}

/** An answer does not fit its question. */
export function answerUnfit(key: string, reason: string): string {
  return text("answer-unfit", [key, reason]);
}

/** The user has not set a credential. */
export function credentialNotSet(toolkit: string, name: string): string {
  return text("credential-not-set", [toolkit, name]);
}

/** A credential cannot be read now. */
export function credentialUnavailable(name: string, reason: string): string {
  return text("credential-unavailable", [name, reason]);
}

/** The toolkit does not declare a credential. */
export function credentialUndeclared(name: string): string {
  return text("credential-undeclared", [name]);
}

/** A structured result does not match `output`. */
export function outputMismatch(violations: string[]): string {
  return text("output-mismatch", violations);
}

/** Describes what each of `branches` choices expects. */
export function describeChoices(messages: string[], branches: number): string {
  return text("choices", [String(branches), ...messages]);
}

/** Adds to a violation of one branch that the value may have been meant for others. */
export function closest(line: string, of: number): string {
  return text("closest", [line, String(of)]);
}

/** The value is none of these constants. */
export function notOneOf(constants: readonly unknown[]): string {
  // Of what JSON cannot express there is a text as well.
  return text("not-one-of", constants.map((it) => (typeof it === "bigint" ? String(it) : (JSON.stringify(it) ?? String(it)))));
}

/** The cache refused a request, which is the author's mistake. */
export function cacheRefused(reason: string): string {
  return text("cache-refused", [reason]);
}

/** The cache cannot be changed now. */
export function cacheUnavailable(reason: string): string {
  return text("cache-unavailable", [reason]);
}

/** The cache has not kept a value. */
export function notKept(reason: string): string {
  return text("not-kept", [reason]);
}
