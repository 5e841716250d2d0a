// Modules that exist in Node.js only: who asks for them, what stands in for some, and what becomes of the others.
import { builtinModules } from "node:module";
import { isAbsolute, relative, resolve } from "node:path";

import type { Message, Metafile, OnResolveResult, Plugin } from "esbuild";

import { locate, PACKAGE } from "./package.js";

/** Tells the plugin's own questions apart from those of modules. */
const RESOLVED = Symbol("resolved");

/** What a package leaves out in browsers: `"browser": { "os": false }`. */
const EMPTY = { path: "empty", namespace: "kitbag-empty" };
/** What a package's `require` brings that cannot be there: using it throws. */
const MISSING = "kitbag-missing";
/** Small modules that packages use and every engine can have. */
const STAND_IN = "kitbag-stand-in";
const STAND_INS: Record<string, string> = {
  timers: `
    const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
    const setImmediate = (callback, ...values) => setTimeout(callback, 0, ...values);
    module.exports = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate: clearTimeout };`,
};

const NAMES = builtinModules.filter((name) => !name.startsWith("_"));
const FILTER = new RegExp(`^(node:.+|${NAMES.map((name) => name.replace("/", "\\/")).join("|")})$`);

/** Calls of `require` that no `try` is around; packages have many that never run. */
export type UnguardedRequires = Set<string>;

/** Names what exists in Node.js alone, and who asks for it. */
export function noNodeModules(root: string, unguarded: UnguardedRequires): Plugin {
  return {
    name: "node",
    setup(build) {
      build.onLoad({ filter: /^/, namespace: EMPTY.namespace }, () => ({ contents: "module.exports = {};" }));
      build.onLoad({ filter: /^/, namespace: STAND_IN }, ({ path }) => ({ contents: STAND_INS[path]! }));
      build.onLoad({ filter: /^/, namespace: MISSING }, ({ pluginData }) => ({ contents: throwing(pluginData as string) }));
      build.onResolve({ filter: FILTER }, async (args): Promise<OnResolveResult | undefined> => {
        if (args.pluginData === RESOLVED) return undefined;
        const { path, kind, resolveDir, importer } = args;
        if (!path.startsWith("node:")) {
          // A package of that name ("buffer", "events") may stand in for it.
          const found = await build.resolve(path, { kind, resolveDir, pluginData: RESOLVED });
          // Where a package left it out, esbuild gives the bare name, and no file.
          if (found.errors.length === 0 && !found.external) return isAbsolute(found.path) ? { path: found.path } : EMPTY;
        }
        const text = nodeOnly(path, importer, root);
        if (!isPackages(importer)) return kind === "require-call" ? undefined : { errors: [{ text }] };
        const name = path.replace(/^node:/, "");
        const events = name === "events" ? locate("events/", PACKAGE) : undefined;
        if (events !== undefined) return { path: events };
        if (name in STAND_INS) return { path: name, namespace: STAND_IN };
        if (unguarded.has(keyOf(importer, path))) return { path: `${importer}?${path}`, namespace: MISSING, pluginData: text };
        // esbuild itself leaves what is within a `try` to fail when it runs, and refuses the rest.
        return kind === "import-statement" ? { errors: [{ text }] } : undefined;
      });
    },
  };
}

/** The same for a look at who imports whom: what cannot be found is left out. */
export function missingApart(): Plugin {
  return {
    name: "node",
    setup(build) {
      build.onResolve({ filter: /^/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
        // Whoever asks with data of its own (another plugin, or this one) does not ask for a module.
        if (pluginData !== undefined || kind === "entry-point") return undefined;
        const found = await build.resolve(path, { kind, resolveDir, importer, pluginData: RESOLVED });
        return found.errors.length > 0 ? { path, external: true } : undefined;
      });
    },
  };
}

/** Adds the requires of packages that esbuild refused for want of a `try`; false where it refused anything else. */
export function addUnguarded(errors: readonly Message[], root: string, unguarded: UnguardedRequires): boolean {
  const found = errors.map((message) => {
    const path = unresolved(message);
    const importer = message.location === null ? "" : resolve(root, message.location.file);
    return path !== undefined && FILTER.test(path) && isPackages(importer) && message.location!.lineText.includes("require") ? keyOf(importer, path) : undefined;
  });
  if (found.length === 0 || !found.every((key) => key !== undefined && !unguarded.has(key))) return false;
  for (const key of found) unguarded.add(key!);
  return true;
}

/** Says of an error that a module of Node.js was not found what the author can do about it. */
export function asNodeOnly(message: Message, root: string): string | undefined {
  const path = unresolved(message);
  if (path === undefined || !FILTER.test(path)) return undefined;
  return nodeOnly(path, resolve(root, message.location?.file ?? ""), root);
}

/** Says how a file of a package came into the bundle: `extension.ts imports "a", which imports "b"`. */
export function wayTo(file: string, { inputs }: Metafile): string | undefined {
  const ways = new Map<string, string[]>(Object.keys(inputs).filter((path) => !path.includes("node_modules/")).map((path) => [path, [path]]));
  const queue = [...ways.keys()];
  for (let current = queue.shift(); current !== undefined; current = queue.shift()) {
    if (current === file) break;
    for (const { path } of inputs[current]?.imports ?? []) {
      if (ways.has(path) || inputs[path] === undefined) continue;
      ways.set(path, [...ways.get(current)!, path]);
      queue.push(path);
    }
  }
  const way = ways.get(file) ?? [];
  const first = way.findIndex((path) => path.includes("node_modules/"));
  if (first < 1) return undefined;
  const packages = [...new Set(way.slice(first).map(packageOf))].map((name) => JSON.stringify(name));
  return `${way[first - 1]} imports ${packages.join(", which imports ")}`;
}

function packageOf(path: string): string {
  const [, name = path] = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
  return name;
}

function unresolved({ text }: Message): string | undefined {
  return /^Could not resolve "(.+)"$/.exec(text)?.[1];
}

function isPackages(importer: string): boolean {
  return importer.includes("/node_modules/");
}

function keyOf(importer: string, path: string): string {
  return `${importer}\0${path}`;
}

function nodeOnly(path: string, importer: string, root: string): string {
  const file = relative(root, importer) || importer;
  const why = "in the sandbox there are no files, processes or sockets. For HTTP use ctx.fetch; otherwise find a package that runs in browsers";
  return `${file} imports ${JSON.stringify(path)}, which exists in Node.js only: ${why}`;
}

/** A module that can be had and not used: many a package asks for what it then does not need. */
function throwing(text: string): string {
  return `
    const use = () => { throw new Error(${JSON.stringify(text)}); };
    const absent = (name) => typeof name === "symbol" || name === "__esModule" || name === "default" || name === "then";
    module.exports = new Proxy(use, { get: (_, name) => (absent(name) ? undefined : use()), set: use, construct: use });`;
}
