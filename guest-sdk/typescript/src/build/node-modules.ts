// Imports of modules that exist only in Node.js: some get a replacement, others become errors that name the
// importer.
import { builtinModules } from "node:module";
import { isAbsolute, relative, resolve } from "node:path";

import type { Message, Metafile, OnResolveResult, Plugin } from "esbuild";

import { locate, PACKAGE } from "./package.js";

/** Marks resolutions that the plugin itself requests, to avoid recursion. */
const RESOLVED = Symbol("resolved");

/** Empty module that replaces modules disabled in browsers by a package: `"browser": { "os": false }`. */
const EMPTY = { path: "empty", namespace: "kitbag-empty" };
/** Namespace of modules that can be required but throw on use. */
const MISSING = "kitbag-missing";
/** Namespace of replacements for small modules that do not depend on Node.js. */
const STAND_IN = "kitbag-stand-in";
const STAND_INS: Record<string, string> = {
  timers: `
    const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
    const setImmediate = (callback, ...values) => setTimeout(callback, 0, ...values);
    module.exports = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate: clearTimeout };`,
};

const NAMES = builtinModules.filter((name) => !name.startsWith("_"));
const FILTER = new RegExp(`^(node:.+|${NAMES.map((name) => name.replace("/", "\\/")).join("|")})$`);

/** Calls of `require` outside of `try`, as keys of importer and path. Packages have many that never run. */
export type UnguardedRequires = Set<string>;

/**
 * Replaces modules that exist only in Node.js, or rejects their import with an error that names the importer.
 */
export function noNodeModules(root: string, unguarded: UnguardedRequires): Plugin {
  return {
    name: "node",
    setup(build) {
      build.onLoad({ filter: /^/, namespace: EMPTY.namespace }, () => ({ contents: "module.exports = {};" }));
      build.onLoad({ filter: /^/, namespace: STAND_IN }, ({ path }) => ({ contents: STAND_INS[path]! }));
      build.onLoad({ filter: /^/, namespace: MISSING }, ({ pluginData }) => ({ contents: throwingModule(pluginData as string) }));
      build.onResolve({ filter: FILTER }, async (args): Promise<OnResolveResult | undefined> => {
        if (args.pluginData === RESOLVED) return undefined;
        const { path, kind, resolveDir, importer } = args;
        if (!path.startsWith("node:")) {
          // A package with the same name ("buffer", "events") takes precedence.
          const found = await build.resolve(path, { kind, resolveDir, pluginData: RESOLVED });
          // For a module that a package disables in browsers, esbuild returns the bare name instead of a
          // file.
          if (found.errors.length === 0 && !found.external) return isAbsolute(found.path) ? { path: found.path } : EMPTY;
        }
        const text = nodeOnlyText(path, importer, root);
        if (!isPackageFile(importer)) return kind === "require-call" ? undefined : { errors: [{ text }] };
        const name = path.replace(/^node:/, "");
        const events = name === "events" ? locate("events/", PACKAGE) : undefined;
        if (events !== undefined) return { path: events };
        if (name in STAND_INS) return { path: name, namespace: STAND_IN };
        if (unguarded.has(keyOf(importer, path))) return { path: `${importer}?${path}`, namespace: MISSING, pluginData: text };
        // For a `require` inside `try`, esbuild generates code that throws at run time; others are build
        // errors.
        return kind === "import-statement" ? { errors: [{ text }] } : undefined;
      });
    },
  };
}

/** Marks unresolved imports as external, so that a failed build can still produce the import graph. */
export function externalizeUnresolved(): Plugin {
  return {
    name: "node",
    setup(build) {
      build.onResolve({ filter: /^/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
        // Plugin data marks a resolution requested by a plugin (this or another one), which needs no change.
        if (pluginData !== undefined || kind === "entry-point") return undefined;
        const found = await build.resolve(path, { kind, resolveDir, importer, pluginData: RESOLVED });
        return found.errors.length > 0 ? { path, external: true } : undefined;
      });
    },
  };
}

/**
 * Adds the `require` calls of packages that esbuild rejected because they are outside of `try`. Returns
 * false, and adds nothing, if there are other errors.
 */
export function addUnguarded(errors: readonly Message[], root: string, unguarded: UnguardedRequires): boolean {
  const found = errors.map((message) => {
    const path = unresolved(message);
    const importer = message.location === null ? "" : resolve(root, message.location.file);
    return path !== undefined && FILTER.test(path) && isPackageFile(importer) && message.location!.lineText.includes("require") ? keyOf(importer, path) : undefined;
  });
  if (found.length === 0 || !found.every((key) => key !== undefined && !unguarded.has(key))) return false;
  for (const key of found) unguarded.add(key!);
  return true;
}

/**
 * Returns a better text for the error that a Node.js module was not found; `undefined` for any other error.
 */
export function nodeOnlyMessage(message: Message, root: string): string | undefined {
  const path = unresolved(message);
  if (path === undefined || !FILTER.test(path)) return undefined;
  return nodeOnlyText(path, resolve(root, message.location?.file ?? ""), root);
}

/** Describes the import chain of a package's file in the bundle: `extension.ts imports "a", which imports "b"`. */
export function importChain(file: string, { inputs }: Metafile): string | undefined {
  const chains = new Map<string, string[]>(Object.keys(inputs).filter((path) => !path.includes("node_modules/")).map((path) => [path, [path]]));
  const queue = [...chains.keys()];
  for (let current = queue.shift(); current !== undefined; current = queue.shift()) {
    if (current === file) break;
    for (const { path } of inputs[current]?.imports ?? []) {
      if (chains.has(path) || inputs[path] === undefined) continue;
      chains.set(path, [...chains.get(current)!, path]);
      queue.push(path);
    }
  }
  const chain = chains.get(file) ?? [];
  const first = chain.findIndex((path) => path.includes("node_modules/"));
  if (first < 1) return undefined;
  const packages = [...new Set(chain.slice(first).map(packageOf))].map((name) => JSON.stringify(name));
  return `${chain[first - 1]} imports ${packages.join(", which imports ")}`;
}

/** Returns the name of the package that a file belongs to. */
export function packageOf(path: string): string {
  const [, name = path] = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
  return name;
}

function unresolved({ text }: Message): string | undefined {
  return /^Could not resolve "(.+)"$/.exec(text)?.[1];
}

function isPackageFile(importer: string): boolean {
  return importer.includes("/node_modules/");
}

function keyOf(importer: string, path: string): string {
  return `${importer}\0${path}`;
}

/** Advice on alternatives to modules of Node.js, by the first part of the module's name. */
const INSTEAD: Record<string, string> = {
  buffer: "use Uint8Array, TextEncoder, btoa and atob",
  crypto: "use the global crypto: crypto.subtle, crypto.randomUUID and crypto.getRandomValues",
  fs: "there are no files: import data as JSON, or export it from a module",
  http: "use ctx.fetch",
  http2: "use ctx.fetch",
  https: "use ctx.fetch",
  process: "declare a setting in config, or a credential in secrets",
  stream: "use ReadableStream, WritableStream and TransformStream",
  url: "use the global URL",
  zlib: "use CompressionStream and DecompressionStream",
};

function nodeOnlyText(path: string, importer: string, root: string): string {
  const file = relative(root, importer) || importer;
  const [name = ""] = path.replace(/^node:/, "").split("/");
  const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : "in the sandbox there are no files, processes or sockets";
  const other = isPackageFile(importer) ? "; for a package, find one that runs in browsers" : "";
  return `${file} imports ${JSON.stringify(path)}, which exists in Node.js only: ${instead}${other}`;
}

/**
 * Returns the source of a module that throws on use: many packages require modules that they never use.
 */
function throwingModule(text: string): string {
  return `
    const use = () => { throw new Error(${JSON.stringify(text)}); };
    const absent = (name) => typeof name === "symbol" || name === "__esModule" || name === "default" || name === "then";
    module.exports = new Proxy(use, { get: (_, name) => (absent(name) ? undefined : use()), set: use, construct: use });`;
}
