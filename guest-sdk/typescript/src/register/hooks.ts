// Module hooks: types are dropped on the way in, nothing is checked.
import { readFile } from "node:fs/promises";
import type { LoadHook, ResolveHook } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

import { transform, type Loader } from "esbuild";

/** This package's own modules. */
const PACKAGE = new URL("..", import.meta.url).href;
const SCHEMA_LIBRARY = /^zod(\/|$)/;
/** The first module of the author's that imports this package. */
let author: string | undefined;

export const resolve: ResolveHook = async (specifier, context, next) => {
  // As in a build, schemas are of one library: the author's copy, else the SDK's own.
  const { parentURL } = context;
  const isOwn = parentURL?.startsWith(PACKAGE) === true;
  if (/^kitbag(\/|$)/.test(specifier) && !isOwn) author ??= parentURL;
  if (SCHEMA_LIBRARY.test(specifier) && isOwn) {
    for (const from of [author, pathToFileURL(`${process.cwd()}/`).href]) {
      if (from === undefined) continue;
      try {
        return await next(specifier, { ...context, parentURL: from });
      } catch {
        // It has none.
      }
    }
    // What `next` is given stays in the context.
    return next(specifier, { ...context, parentURL });
  }
  try {
    return await next(specifier, context);
  } catch (error) {
    for (const spelling of spellings(specifier)) {
      try {
        return await next(spelling, context);
      } catch {
        // The next one, or the error that the author's own spelling brought.
      }
    }
    // Where nothing is installed, this package stands in.
    if (/^(kitbag|zod)(\/|$)/.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
    throw error;
  }
};

/** What TypeScript and the build find behind a name, and Node.js does not: a.ts behind ./a.js and ./a, a folder's index. */
function spellings(specifier: string): string[] {
  const relative = /^\.{1,2}(\/|$)/.test(specifier);
  if (relative && /\.[mc]?jsx?$/.test(specifier)) return [specifier.replace(/js(x?)$/, "ts$1")];
  if (relative) return [".ts", ".js", ".json", "/index.ts", "/index.js"].map((end) => specifier.replace(/\/$/, "") + end);
  // A file within a package that has no `exports`.
  return /^(@[^/]+\/)?[^./@][^/]*\/./.test(specifier) ? [`${specifier}.js`, `${specifier}/index.js`] : [];
}

export const load: LoadHook = async (url, context, next) => {
  const loader = url.startsWith("file:") ? loaderFor(new URL(url).pathname) : undefined;
  // What says itself how it is to be read is read so.
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
