// Writes dist/web.d.ts, the types of the sandbox's globals: those declarations of TypeScript's lib.webworker.d.ts that the
// globals need. `npm run build` runs it.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { CRYPTO_GLOBALS, WEB_GLOBALS } from "../dist/sandbox-globals.js";

/** What the language has besides, of newer editions than TypeScript's `es2024`. */
const LANGUAGE = ["es2024", "esnext.array", "esnext.collection", "esnext.iterator"];

/** Parts of ECMAScript that the sandbox has and TypeScript 5.7 has no library of. */
const NEWER = `interface Uint8ArrayConstructor {
    fromBase64(text: string, options?: { alphabet?: "base64" | "base64url"; lastChunkHandling?: "loose" | "strict" | "stop-before-partial" }): Uint8Array<ArrayBuffer>;
    fromHex(text: string): Uint8Array<ArrayBuffer>;
}
interface Uint8Array<TArrayBuffer extends ArrayBufferLike> {
    toBase64(options?: { alphabet?: "base64" | "base64url"; omitPadding?: boolean }): string;
    toHex(): string;
}
interface PromiseConstructor {
    try<T, U extends unknown[]>(action: (...values: U) => T | PromiseLike<T>, ...values: U): Promise<Awaited<T>>;
}`;

/** Declarations that differ in the sandbox. */
const OWN = {
  Navigator: "interface Navigator {\n    readonly userAgent: string;\n}\ndeclare var Navigator: { prototype: Navigator; new(): never; };",
  MessageEventSource: "type MessageEventSource = MessagePort;",
  Transferable: "type Transferable = ArrayBuffer | MessagePort | ReadableStream | TransformStream | WritableStream;",
  global: "declare var global: typeof globalThis;",
  navigator: "declare var navigator: Navigator;",
  self: "declare var self: typeof globalThis;",
};

/** Members that the sandbox's classes lack. */
const MISSING_MEMBERS = {
  Performance: ["onresourcetimingbufferfull", "clearMarks", "clearMeasures", "clearResourceTimings", "eventCounts", "getEntries", "getEntriesByName", "getEntriesByType", "mark", "measure", "setResourceTimingBufferSize", "addEventListener", "removeEventListener"],
  URL: ["createObjectURL", "revokeObjectURL"],
};

const source = readFileSync(libraryFile(), "utf8");
const declarations = declarationsIn(source);
const license = source.slice(0, source.indexOf("*/") + 2);
const references = LANGUAGE.map((name) => `/// <reference lib="${name}" />`);
writeFileSync(new URL("../dist/web.d.ts", import.meta.url), [license, ...references, NEWER, ...needed([...WEB_GLOBALS, ...CRYPTO_GLOBALS]), ""].join("\n"));

/** Returns the path of lib.webworker.d.ts, which TypeScript 7 has in a package for each platform. */
function libraryFile() {
  const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
  const { optionalDependencies = {} } = JSON.parse(readFileSync(typescript, "utf8"));
  const inside = createRequire(typescript);
  for (const name of Object.keys(optionalDependencies)) {
    try {
      return join(dirname(inside.resolve(`${name}/package.json`)), "lib/lib.webworker.d.ts");
    } catch {
      // The package of another platform.
    }
  }
  throw new Error("TypeScript has no lib.webworker.d.ts");
}

/** Splits a library into its declarations, by name; an interface and a variable may share one. */
function declarationsIn(text) {
  const found = new Map();
  for (const [declaration] of text.matchAll(/^(?:\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?(?:interface|type|declare (?:var|function)) (?:.*[;}]$|[^]*?^\}.*$)/gm)) {
    const [, kind, name] = /^(?:declare )?(interface|type|var|function) ([\w$]+)/m.exec(declaration);
    found.set(name, [...(found.get(name) ?? []), { isValue: kind === "var" || kind === "function", text: without(declaration, MISSING_MEMBERS[name] ?? []) }]);
  }
  return found;
}

/** Returns a declaration without these members and their remarks. */
function without(declaration, members) {
  return members.reduce((text, member) => text.replace(new RegExp(`^(?: {4}/\\*\\*(?:[^*]|\\*(?!/))*\\*/\\n)? {4}(?:readonly )?${member}[(<:?].*\\n`, "gm"), ""), declaration);
}

/** Returns the declarations of these globals, and of every type that they use. */
function needed(globals) {
  const texts = new Map();
  const add = (name, withValue) => {
    if (texts.has(name)) return;
    const own = OWN[name] === undefined ? (declarations.get(name) ?? []).filter(({ isValue }) => withValue || !isValue).map(({ text }) => text) : [OWN[name]];
    texts.set(name, own);
    for (const text of own) for (const [used] of text.replace(/\/\*\*[^]*?\*\//g, "").matchAll(/[A-Za-z_$][\w$]*/g)) if (declarations.has(used)) add(used, false);
  };
  // First those with a value: a type that another one uses has none.
  for (const name of globals) {
    if (OWN[name] === undefined && !declarations.has(name)) throw new Error(`TypeScript has no type of ${name}`);
    texts.delete(name);
    add(name, true);
  }
  return [...texts].sort(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, own]) => own);
}
