// Bundles extension.ts into one file: once to read the declaration in Node.js, once for the sandbox.
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { build, type BuildFailure as EsbuildFailure, type Metafile, type Plugin } from "esbuild";

import { bundleFailure } from "./bundle-failure.js";
import { addUnguarded, externalizeUnresolved, noNodeModules, type UnguardedRequires } from "./node-modules.js";
import { PACKAGE } from "./package.js";
import { RESOLUTION } from "./resolution.js";

/** Purpose of a bundle: `reading` to read the declaration, `sandbox` to become part of the component. */
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

const REQUESTS = { reading: "dist/openapi/request.reading.js", sandbox: "dist/openapi/request.js" };
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
    throw bundleFailure(error, entry, imports?.metafile);
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
        if (path === "kitbag/extend/openapi") return { path: join(PACKAGE, REQUESTS[purpose]), sideEffects: false };
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
 * Leaves out zod's messages in fifty languages, which are an eighth of a component's size. English messages stay.
 */
export function withoutLocales(): Plugin {
  return {
    name: "locales",
    setup(build) {
      build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: "export {};" }));
    },
  };
}

/**
 * Ignores the source maps of packages. With them, a stack names source files of the package that are not in the import
 * graph.
 */
export function withoutPackageMaps(): Plugin {
  return {
    name: "package-maps",
    setup(build) {
      build.onLoad({ filter: /[\\/]node_modules[\\/].*\.[mc]?js$/ }, async ({ path }) => ({
        contents: (await readFile(path, "utf8")).replace(/\/\/# sourceMappingURL=.*/g, ""),
        loader: "js",
      }));
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
