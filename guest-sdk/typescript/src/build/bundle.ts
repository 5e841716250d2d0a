// From extension.ts to one file: once to read the declaration in Node.js, once for the sandbox.
import { builtinModules } from "node:module";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";

import { build, type BuildFailure as EsbuildFailure, type Message, type Plugin } from "esbuild";

import { BuildFailure } from "./failure.js";
import { PACKAGE } from "./package.js";

/** What a bundle is for: `reading` says what is declared, `sandbox` is what travels. */
export type Purpose = "reading" | "sandbox";

export interface Bundle {
  code: string;
  /** The source map, as JSON. */
  map: string;
  /** The author's own files, relative to the entry's folder. */
  sources: string[];
}

const ENTRY = { reading: "dist/toolkit.reading.js", sandbox: "dist/toolkit.sandbox.js" };

/** Bundles `code`, which imports the author's entry, with everything that it needs. */
export async function bundle(entry: string, code: string, purpose: Purpose, extra: Plugin[] = []): Promise<Bundle> {
  const root = dirname(entry);
  try {
    const result = await build({
      stdin: { contents: code, resolveDir: root, sourcefile: "kitbag:entry", loader: "js" },
      absWorkingDir: root,
      outfile: join(root, "toolkit.js"),
      write: false,
      bundle: true,
      format: "esm",
      target: "es2022",
      // As for a page: what a package replaces there by its "browser" field is replaced here.
      platform: "browser",
      mainFields: ["browser", "module", "main"],
      conditions: ["worker", "browser", "import"],
      // A bundle lies nowhere; asking the engine where ends the call.
      define: { "process.env.NODE_ENV": '"production"', "import.meta.url": "undefined" },
      external: ["kitbag:*"],
      // Names and statements stay as they are: a stack trace tells them.
      minifySyntax: false,
      minifyWhitespace: purpose === "sandbox",
      keepNames: false,
      sourcemap: "external",
      sourcesContent: false,
      metafile: true,
      logLevel: "silent",
      plugins: [...extra, ownModules(purpose), oneSchemaLibrary(), noNodeModules(root)],
    });
    const file = (end: string) => result.outputFiles.find(({ path }) => path.endsWith(end))!.text;
    const sources = Object.keys(result.metafile.inputs).filter((path) => isAuthors(path, root));
    return { code: file("toolkit.js"), map: file("toolkit.js.map"), sources };
  } catch (error) {
    throw asFailure(error, entry);
  }
}

/** Whether a source, by its path relative to the entry's folder, was written by the toolkit's author. */
export function isAuthors(path: string, root: string): boolean {
  const absolute = resolve(root, path);
  return !/^[\w-]+:/.test(path) && !absolute.includes("/node_modules/") && !absolute.startsWith(join(PACKAGE, "dist/"));
}

/** What a toolkit imports is this very package: the one that makes the component. */
function ownModules(purpose: Purpose): Plugin {
  return {
    name: "kitbag",
    setup(build) {
      build.onResolve({ filter: /^kitbag(\/|$)/ }, ({ path }) => {
        if (path === "kitbag/extend/toolkit") return { path: join(PACKAGE, ENTRY[purpose]), sideEffects: false };
        return { errors: [{ text: `there is no ${JSON.stringify(path)}: toolkits import "kitbag/extend/toolkit"` }] };
      });
    },
  };
}

const RESOLVED = Symbol("resolved");

/** The author's schemas and the SDK must be of one library: the author's copy, else the SDK's own. */
function oneSchemaLibrary(): Plugin {
  return {
    name: "zod",
    setup(build) {
      build.onResolve({ filter: /^zod(\/|$)/ }, async ({ path, kind, pluginData }) => {
        if (pluginData === RESOLVED) return undefined;
        for (const resolveDir of [build.initialOptions.absWorkingDir!, PACKAGE]) {
          const found = await build.resolve(path, { kind, resolveDir, pluginData: RESOLVED });
          if (found.errors.length === 0) return { path: found.path, sideEffects: false };
        }
        return undefined;
      });
    },
  };
}

/**
 * Leaves out the schema library's messages in fifty languages, an eighth of a component. English is not
 * among those left out.
 */
export function withoutLocales(): Plugin {
  return {
    name: "locales",
    setup(build) {
      build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: "export {};" }));
    },
  };
}

/** What a package leaves out in browsers: `"browser": { "os": false }`. */
const EMPTY = { path: "empty", namespace: "kitbag-empty" };

/** Whether a package left out what it asks for: esbuild gives the bare name then, and no file. */
function disabled({ path }: { path: string }): boolean {
  return !isAbsolute(path);
}

/** Names what exists in Node.js alone, and who asks for it. */
function noNodeModules(root: string): Plugin {
  return {
    name: "node",
    setup(build) {
      const names = builtinModules.filter((name) => !name.startsWith("_")).map((name) => name.replace("/", "\\/"));
      build.onLoad({ filter: /^/, namespace: EMPTY.namespace }, () => ({ contents: "module.exports = {};" }));
      build.onResolve({ filter: new RegExp(`^(node:.+|${names.join("|")})$`) }, async (args) => {
        if (args.pluginData === RESOLVED) return undefined;
        if (!args.path.startsWith("node:")) {
          // A package of that name ("buffer", "events") may stand in for it.
          const found = await build.resolve(args.path, { kind: args.kind, resolveDir: args.resolveDir, pluginData: RESOLVED });
          if (found.errors.length === 0 && !found.external) return disabled(found) ? EMPTY : { path: found.path };
        }
        const importer = relative(root, args.importer) || args.importer;
        const text = `${importer} imports ${JSON.stringify(args.path)}, which exists in Node.js only: in the sandbox there are no files, processes or sockets. For HTTP use ctx.fetch; otherwise find a package that runs in browsers`;
        return { errors: [{ text }] };
      });
    },
  };
}

function asFailure(error: unknown, entry: string): BuildFailure {
  const { errors } = error as EsbuildFailure;
  if (!Array.isArray(errors)) throw error;
  return new BuildFailure("source", errors.map((message) => line(message, entry)).join("\n"));
}

function line({ text, location, notes }: Message, entry: string): string {
  if (text.startsWith("No matching export") && text.includes('import "default"') && location?.file === "kitbag:entry") {
    return noDefaultExport(relative(dirname(entry), entry));
  }
  if (text.startsWith("Could not resolve") && location?.file === "kitbag:entry") return `there is no ${basename(entry)} in this folder`;
  const where = location === null || location.file === "kitbag:entry" ? "" : `${location.file}:${location.line}:${location.column + 1}: `;
  const missing = /^Could not resolve "((?:@[a-z0-9~-][^/"]*\/)?[a-z0-9~-][^/"]*)/.exec(text);
  if (missing !== null) return `${where}${text}\n  It is not installed: npm install ${missing[1]}`;
  const hints = notes.filter((note) => note.text !== "").map((note) => `\n  ${note.text}`);
  return where + text + hints.join("");
}

/** Says what an entry has to end with. */
export function noDefaultExport(name: string): string {
  return `${name} has no default export: end it with \`export default defineToolkit({ … })\``;
}
