// Module hooks that strip types from TypeScript when it is loaded. Types are not checked.
import { readFile } from "node:fs/promises";
import type { LoadHook, ResolveHook } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

import { transform, type Loader } from "esbuild";

/** This package's own modules. */
const PACKAGE = new URL("..", import.meta.url).href;
const SCHEMA_LIBRARY = /^zod(\/|$)/;
/** URL of the first module of the author's that imports this package. */
let author: string | undefined;

export const resolve: ResolveHook = async (specifier, context, next) => {
  // As in a build, the SDK and the toolkit share one copy of zod: the author's, else the SDK's own.
  const { parentURL } = context;
  const isOwn = parentURL?.startsWith(PACKAGE) === true;
  if (/^kitbag(\/|$)/.test(specifier) && !isOwn) author ??= parentURL;
  if (SCHEMA_LIBRARY.test(specifier) && isOwn) {
    for (const from of [author, pathToFileURL(`${process.cwd()}/`).href]) {
      if (from === undefined) continue;
      try {
        return await next(specifier, { ...context, parentURL: from });
      } catch {
        // No copy of zod there.
      }
    }
    // `next` keeps the context that it was last given, so the original parent is restored explicitly.
    return next(specifier, { ...context, parentURL });
  }
  try {
    return await next(specifier, context);
  } catch (error) {
    for (const spelling of spellings(specifier)) {
      try {
        return await next(spelling, context);
      } catch {
        // Try the next one; if all fail, the error for the author's own spelling is thrown.
      }
    }
    // If the author has not installed them, this package and its zod are used.
    if (/^(kitbag|zod)(\/|$)/.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
    throw error;
  }
};

/**
 * Returns the other file names that TypeScript and the build try for a specifier: a.ts for ./a.js or ./a, an
 * index.
 */
function spellings(specifier: string): string[] {
  const relative = /^\.{1,2}(\/|$)/.test(specifier);
  if (relative && /\.[mc]?jsx?$/.test(specifier)) return [specifier.replace(/js(x?)$/, "ts$1")];
  if (relative) return [".ts", ".js", ".json", "/index.ts", "/index.js"].map((end) => specifier.replace(/\/$/, "") + end);
  // A path into a package without `exports`.
  return /^(@[^/]+\/)?[^./@][^/]*\/./.test(specifier) ? [`${specifier}.js`, `${specifier}/index.js`] : [];
}

export const load: LoadHook = async (url, context, next) => {
  const loader = url.startsWith("file:") ? loaderFor(new URL(url).pathname) : undefined;
  // An import with a `type` attribute is loaded by Node.js.
  if (loader === undefined || context.importAttributes.type !== undefined) return next(url, context);
  const file = fileURLToPath(url);
  const { code } = await transform(await readFile(file, "utf8"), {
    loader,
    format: "esm",
    target: "es2022",
    sourcefile: file,
    sourcemap: "inline",
  });
  return { format: "module", source: code, shortCircuit: true };
};

function loaderFor(path: string): Loader | undefined {
  if (/\.[mc]?ts$/.test(path)) return "ts";
  return path.endsWith(".json") ? "json" : undefined;
}
