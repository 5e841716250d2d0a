// Module hooks that strip types from TypeScript when it is loaded, and that find modules as a build does. Types are not
// checked.
import { readFile } from "node:fs/promises";
import type { LoadHook, ResolveHook } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

import { transform, type Loader } from "esbuild";

import { bundledPackage, isModule } from "./package-bundle.js";
import { resolveAsBuild } from "./resolver.js";

/** This package's own modules. */
const PACKAGE = new URL("..", import.meta.url).href;
const SCHEMA_LIBRARY = /^zod(\/|$)/;
/** Marks the URL of a package's file that is loaded as in a build. */
const BUNDLED = "?kitbag-bundled";
/** Files of tests, which import packages as Node.js does; all others of the author's belong to the toolkit. */
const TEST_FILE = /\.(?:test|spec)\.[mc]?[jt]sx?$/;
/** Folders of tests, inside of the folder that the process was started in. */
const TEST_FOLDER = /(?:^|\/)(?:tests?|__tests__)\//;
const STARTED_IN = pathToFileURL(`${process.cwd()}/`).href;
/** URL of the first module of the author's that imports this package. */
let author: string | undefined;
/** URL of the module that the process was started with. */
let main: string | undefined;

export const resolve: ResolveHook = async (specifier, context, next) => {
  const { parentURL } = context;
  if (parentURL === undefined) {
    const found = await next(specifier, context);
    main ??= found.url;
    return found;
  }
  // As in a build, the SDK and the toolkit share one copy of zod: the author's, else the SDK's own.
  const isOwn = parentURL.startsWith(PACKAGE);
  const isShared = /^(kitbag|zod)(\/|$)/.test(specifier);
  if (/^kitbag(\/|$)/.test(specifier) && !isOwn) author ??= parentURL;
  if (SCHEMA_LIBRARY.test(specifier) && isOwn) {
    for (const from of [author, STARTED_IN]) {
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
  let failure: unknown;
  const found = await Promise.resolve(next(specifier, context)).catch((error: unknown) => void (failure = error));
  // Packages and tests find modules as Node.js does, and only what it does not find as a build.
  if (found !== undefined && (isShared || !isAuthorModule(parentURL) || isTest(parentURL) || found.url.startsWith("node:"))) return found;
  // If the author has not installed them, this package and its zod are used.
  if (isShared) return next(specifier, { ...context, parentURL: import.meta.url });
  const file = await resolveAsBuild(specifier, fileURLToPath(parentURL));
  if (file === undefined) {
    if (found !== undefined) return found;
    throw failure;
  }
  const url = pathToFileURL(file).href;
  if (url === found?.url) return found;
  if (!isAuthorModule(url) && (await isModule(file))) return { url: url + BUNDLED, format: "module", shortCircuit: true };
  return next(url, { ...context, parentURL });
};

export const load: LoadHook = async (url, context, next) => {
  if (url.endsWith(BUNDLED)) {
    return { format: "module", source: await bundledPackage(fileURLToPath(url.slice(0, -BUNDLED.length))), shortCircuit: true };
  }
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

function isAuthorModule(url: string): boolean {
  return url.startsWith("file:") && !url.includes("/node_modules/") && !url.startsWith(PACKAGE);
}

function isTest(url: string): boolean {
  const inside = url.startsWith(STARTED_IN) ? url.slice(STARTED_IN.length) : "";
  return url === main || TEST_FILE.test(url) || TEST_FOLDER.test(inside);
}

function loaderFor(path: string): Loader | undefined {
  if (/\.[mc]?ts$/.test(path)) return "ts";
  return path.endsWith(".json") ? "json" : undefined;
}
