// Document as a graph of JSON values: reads its files, and follows `$ref`s.
//
// References are followed on access and never expanded as a whole, so cycles cost nothing; readers limit the number of
// values that they visit. External files are read before anything else, so that readers are synchronous.
import { createHash } from "node:crypto";

import { parseDocument } from "yaml";

import { isRecord, member, textAt, type JsonRecord } from "./json.js";
import { CannotMake, DocumentError } from "./problem.js";
import type { Source, SourceFile } from "./source.js";

/** Maximum nesting depth of a file. */
const MAX_DEPTH = 200;
/** Maximum number of values in all files. GitHub's document has 600,000. */
const MAX_VALUES = 4_000_000;
/** Maximum length of a chain of references. */
const MAX_CHAIN = 32;
/** Maximum number of aliases in a YAML file. */
const MAX_ALIASES = 10_000;

/** A value of the document, and the file that its references are relative to. */
export interface Node {
  readonly value: unknown;
  readonly file: string;
  /** Absolute reference through which the value was reached; absent if there was none. */
  readonly ref?: string;
}

/** A document with all its files. */
export class OpenApiDocument {
  readonly root: JsonRecord;
  readonly url: string;
  /** Version of the format; 2.0 is Swagger. */
  readonly version: "2.0" | "3.0" | "3.1";
  /** SHA-256 of all files, in hexadecimal. */
  readonly digest: string;
  readonly #files: ReadonlyMap<string, unknown>;
  /** Files that could not or must not be read, with the reason. */
  readonly #refused: ReadonlyMap<string, string>;

  constructor(url: string, files: ReadonlyMap<string, unknown>, refused: ReadonlyMap<string, string>, digest: string) {
    const root = files.get(url);
    if (!isRecord(root)) throw new DocumentError("the document is not an object");
    this.root = root;
    this.url = url;
    this.digest = digest;
    this.#files = files;
    this.#refused = refused;
    this.version = versionOf(root);
  }

  /** Returns the value at a path in the root file. */
  at(...path: string[]): Node {
    return { value: path.reduce<unknown>(member, this.root), file: this.url };
  }

  /** Follows references to a value that is not one. Drops members beside a `$ref`; see {@link siblings}. */
  resolve(node: Node): Node {
    let current = node;
    for (let length = 0; ; length++) {
      const ref = member(current.value, "$ref");
      if (typeof ref !== "string") return current;
      if (length === MAX_CHAIN) throw new CannotMake(`${quoted(ref)} leads to more than ${MAX_CHAIN} further references`);
      current = this.#target(ref, current.file);
    }
  }

  /** Returns a member of a value, resolved. */
  member(node: Node, name: string): Node {
    return this.resolve({ value: member(node.value, name), file: node.file });
  }

  #target(ref: string, base: string): Node {
    const address = addressOf(ref, base);
    if (address === undefined) throw new CannotMake(`${quoted(ref)} is no address`);
    const { url, pointer } = address;
    const refused = this.#refused.get(url);
    if (refused !== undefined) throw new CannotMake(refused);
    let value = this.#files.get(url);
    for (const name of pointer) {
      value = Array.isArray(value) && /^\d{1,6}$/.test(name) ? value[Number(name)] : member(value, name);
    }
    if (value === undefined) throw new CannotMake(`there is nothing at ${quoted(ref)}`);
    return { value, file: url, ref: `${url}#${pointer.join("/")}` };
  }
}

/** Reads a document with all files that it refers to. */
export async function readDocument(source: Source): Promise<OpenApiDocument> {
  const files = new Map<string, unknown>();
  const refused = new Map<string, string>();
  const hash = createHash("sha256");
  const budget = { values: MAX_VALUES };
  const waiting = [source.root];
  for (let url = waiting.pop(); url !== undefined; url = waiting.pop()) {
    if (files.has(url) || refused.has(url)) continue;
    let file: SourceFile;
    try {
      file = await source.read(url);
    } catch (error) {
      if (!(error instanceof DocumentError) || url === source.root) throw error;
      refused.set(url, error.message);
      continue;
    }
    hash.update(file.text).update("\0");
    const value = parse(file);
    files.set(url, value);
    waiting.push(...externalFiles(value, url, budget).filter((it) => !files.has(it)));
  }
  return new OpenApiDocument(source.root, files, refused, hash.digest("hex"));
}

/** Parses JSON or YAML. */
function parse({ url, text }: SourceFile): unknown {
  const content = text.replace(/^\uFEFF/, "");
  if (/^\s*[{[]/.test(content)) {
    try {
      return JSON.parse(content);
    } catch {
      // May still be YAML, whose flow mappings look like JSON.
    }
  }
  const parsed = parseDocument(content, { merge: true, uniqueKeys: false, logLevel: "silent" });
  const [error] = parsed.errors;
  if (error !== undefined) throw new DocumentError(`${url} is neither JSON nor YAML: ${error.message.split("\n")[0]}`);
  try {
    return parsed.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (cause) {
    throw new DocumentError(`${url} cannot be read: ${(cause as Error).message}`);
  }
}

/** Returns the addresses of other files in all `$ref`s, and checks the depth and size of the file. */
function externalFiles(root: unknown, base: string, budget: { values: number }): string[] {
  const found = new Set<string>();
  // YAML's aliases share values: each is visited once.
  const visited = new Set<object>();
  const waiting: [unknown, number][] = [[root, 0]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [value, depth] = next;
    if (typeof value !== "object" || value === null || visited.has(value)) continue;
    visited.add(value);
    if (depth > MAX_DEPTH) throw new DocumentError(`values of the document are nested more than ${MAX_DEPTH} levels deep`);
    const inner = Object.values(value);
    budget.values -= inner.length;
    if (budget.values < 0) throw new DocumentError(`the document has more than ${MAX_VALUES} values`);
    for (const it of inner) waiting.push([it, depth + 1]);
    const ref = member(value, "$ref");
    const url = typeof ref === "string" ? addressOf(ref, base)?.url : undefined;
    if (url !== undefined && url !== base) found.add(url);
  }
  return [...found];
}

/** Returns the file and the JSON Pointer (RFC 6901) of a reference. */
function addressOf(ref: string, base: string): { url: string; pointer: string[] } | undefined {
  try {
    const url = new URL(ref, base);
    const fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = "";
    if (fragment !== "" && !fragment.startsWith("/")) return undefined;
    const pointer = fragment.split("/").slice(1);
    return { url: url.href, pointer: pointer.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~")) };
  } catch {
    return undefined;
  }
}

function versionOf(root: JsonRecord): "2.0" | "3.0" | "3.1" {
  const version = textAt(root, "openapi") ?? textAt(root, "swagger");
  if (version === undefined) throw new DocumentError("this is no OpenAPI document: it has neither `openapi` nor `swagger`");
  if (version.startsWith("3.0")) return "3.0";
  if (version.startsWith("3.")) return "3.1";
  if (version === "2" || version.startsWith("2.0")) return "2.0";
  throw new DocumentError(`OpenAPI ${quoted(version)} is not supported: there are 3.0, 3.1 and Swagger 2.0`);
}

/** Quotes a short text of a document in a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
