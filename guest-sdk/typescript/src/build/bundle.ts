// Bundles extension.ts into one file: once to read the declaration in Node.js, once for the sandbox.
import { basename, dirname, join, relative, resolve } from "node:path";

import { build, type BuildFailure as EsbuildFailure, type Message, type Metafile, type Plugin } from "esbuild";

import { BuildFailure } from "./failure.js";
import { addUnguarded, externalizeUnresolved, importChain, nodeOnlyMessage, noNodeModules, type UnguardedRequires } from "./node-modules.js";
import { PACKAGE } from "./package.js";
import { RESOLUTION } from "./resolution.js";

/** What a bundle is for: `reading` to read the declaration, `sandbox` to become part of the component. */
export type Purpose = "reading" | "sandbox";

export interface Bundle {
  code: string;
  /** The source map, as JSON. */
  map: string;
  /** The author's own files, relative to the entry's folder. */
  sources: string[];
  /** esbuild's metafile: the import graph. */
  metafile: Metafile;
}

const ENTRY = { reading: "dist/toolkit.reading.js", sandbox: "dist/toolkit.sandbox.js" };

/** Bundles `code`, which imports the author's entry file, with all its dependencies. */
export async function bundle(entry: string, code: string, purpose: Purpose, extra: Plugin[] = []): Promise<Bundle> {
  const root = dirname(entry);
  const unguarded: UnguardedRequires = new Set();
  const bundled = (node: Plugin) =>
    build({
      stdin: { contents: code, resolveDir: root, sourcefile: "kitbag:entry", loader: "js" },
      absWorkingDir: root,
      outfile: join(root, "toolkit.js"),
      write: false,
      bundle: true,
      format: "esm",
      target: "es2022",
      ...RESOLUTION,
      conditions: [...RESOLUTION.conditions, ...(purpose === "sandbox" ? ["kitbag-sandbox"] : [])],
      // A bundle has no URL, and in the engine reading `import.meta.url` would end the call.
      define: { "process.env.NODE_ENV": '"production"', "import.meta.url": "undefined" },
      // Names and statements stay unchanged, because stack traces show them.
      minifySyntax: false,
      minifyWhitespace: purpose === "sandbox",
      keepNames: false,
      sourcemap: "external",
      sourcesContent: false,
      metafile: true,
      logLevel: "silent",
      plugins: [...extra, ownModules(purpose), oneSchemaLibrary(), dataModules(), node],
    });
  const bundleForBrowsers = async () => {
    try {
      return await bundled(noNodeModules(root, unguarded));
    } catch (error) {
      if (!addUnguarded((error as EsbuildFailure).errors ?? [], root, unguarded)) throw error;
      return bundled(noNodeModules(root, unguarded));
    }
  };
  try {
    const result = await bundleForBrowsers();
    const file = (end: string) => result.outputFiles.find(({ path }) => path.endsWith(end))!.text;
    const sources = Object.keys(result.metafile.inputs).filter((path) => isAuthorSource(path, root));
    return { code: file("toolkit.js"), map: file("toolkit.js.map"), sources, metafile: result.metafile };
  } catch (error) {
    const imports = await bundled(externalizeUnresolved()).catch(() => undefined);
    throw asFailure(error, entry, imports?.metafile);
  }
}

/**
 * Whether a source file belongs to the toolkit's author. `path` is relative to `root`, the entry's folder.
 */
export function isAuthorSource(path: string, root: string): boolean {
  const absolute = resolve(root, path);
  // A path with a prefix is not a file: it is a plugin's module, a `data:` URL, or a module that a package
  // disables in browsers.
  return !/^[(<]?[\w-]+[)>]?:/.test(path) && !absolute.includes("/node_modules/") && !absolute.startsWith(join(PACKAGE, "dist/"));
}

/** Resolves imports of `kitbag` to this package, the one that builds the component. */
function ownModules(purpose: Purpose): Plugin {
  return {
    name: "kitbag",
    setup(build) {
      // The engine's native modules, which only the SDK may import.
      build.onResolve({ filter: /^kitbag:/ }, ({ path, importer }) => {
        if (importer.startsWith(join(PACKAGE, "dist/"))) return { path, external: true };
        return { errors: [{ text: `there is no ${JSON.stringify(path)}: toolkits import "kitbag/extend/toolkit"` }] };
      });
      build.onResolve({ filter: /^kitbag(\/|$)/ }, ({ path }) => {
        if (path === "kitbag/extend/toolkit") return { path: join(PACKAGE, ENTRY[purpose]), sideEffects: false };
        return { errors: [{ text: `there is no ${JSON.stringify(path)}: toolkits import "kitbag/extend/toolkit"` }] };
      });
    },
  };
}

const RESOLVED = Symbol("resolved");

/** Resolves zod to one copy for the toolkit and the SDK: the author's, else the SDK's own. */
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
 * Leaves out zod's messages in fifty languages, which are an eighth of a component. The English messages are
 * not affected.
 */
export function withoutLocales(): Plugin {
  return {
    name: "locales",
    setup(build) {
      build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: "export {};" }));
    },
  };
}

/** Rejects imports of `data:` URLs, except for JavaScript and JSON. */
function dataModules(): Plugin {
  return {
    name: "data",
    setup(build) {
      build.onResolve({ filter: /^data:/ }, ({ path }) => {
        const [, type = "text/plain"] = /^data:([\w.+-]+\/[\w.+-]+)?/.exec(path) ?? [];
        if (/^(text|application)\/(javascript|json)$/.test(type)) return undefined;
        return { errors: [{ text: `a data: URL of ${type} cannot be imported: JavaScript and JSON can` }] };
      });
    },
  };
}

function asFailure(error: unknown, entry: string, imports: Metafile | undefined): BuildFailure {
  const { errors } = error as EsbuildFailure;
  if (!Array.isArray(errors)) throw error;
  return new BuildFailure("source", errors.map((message) => errorText(message, entry, imports)).join("\n"));
}

function errorText(message: Message, entry: string, imports: Metafile | undefined): string {
  const { location, notes } = message;
  const text = nodeOnlyMessage(message, dirname(entry)) ?? message.text;
  if (text.startsWith("No matching export") && text.includes('import "default"') && location?.file === "kitbag:entry") {
    return noDefaultExport(relative(dirname(entry), entry));
  }
  if (text.startsWith("Could not resolve") && location?.file === "kitbag:entry") return `there is no ${basename(entry)} in this folder`;
  const where = location === null || location.file === "kitbag:entry" ? "" : `${location.file}:${location.line}:${location.column + 1}: `;
  const missing = /^Could not resolve "((?:@[a-z0-9~-][^/"]*\/)?[a-z0-9~-][^/"]*)/.exec(text);
  const hints = text === message.text ? notes.map((note) => note.text) : [];
  if (missing !== null) hints.splice(0, hints.length, `It is not installed: npm install ${missing[1]}`);
  const chain = location === null || imports === undefined ? undefined : importChain(location.file, imports);
  return [where + text, ...hints, chain ?? ""].filter((part) => part !== "").join("\n  ");
}

/** Returns the error text for an entry file without a default export. */
export function noDefaultExport(name: string): string {
  return `${name} has no default export: end it with \`export default defineToolkit({ … })\``;
}
