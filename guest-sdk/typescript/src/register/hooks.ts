// Module hooks that strip types from TypeScript on loading, and that resolve modules as a build does. Types are not
// checked.
import { readFile } from "node:fs/promises";
import type { LoadHook, ResolveFnOutput, ResolveHook } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

import { transform, type Loader } from "esbuild";

import { bundledPackage, isModule } from "./package-bundle.js";
import { resolveAsBuild } from "./resolver.js";

/** URL of this package's own modules. */
const PACKAGE = new URL("..", import.meta.url).href;
const SCHEMA_LIBRARY = /^zod(\/|$)/;
/** Suffix in the URL of a package's file that is loaded as in a build. */
const BUNDLED = "?kitbag-bundled";
/** Test files, which import packages as Node.js does. All other files of the author belong to the toolkit. */
const TEST_FILE = /\.(?:test|spec)\.[mc]?[jt]sx?$/;
/** Test folders, inside of the folder that the process was started in. */
const TEST_FOLDER = /(?:^|\/)(?:tests?|__tests__)\//;
const STARTED_IN = pathToFileURL(`${process.cwd()}/`).href;
/** URL of the author's first module that imports this package. */
let author: string | undefined;
/** URL of the module that the process was started with. */
let main: string | undefined;

type Resolve = (from?: string) => Promise<ResolveFnOutput>;

export const resolve: ResolveHook = async (specifier, context, next) => {
  const { parentURL } = context;
  // `next` reuses the context of its last call, so the parent is always passed explicitly.
  const asNode: Resolve = async (from = parentURL) => next(specifier, { ...context, parentURL: from });
  if (parentURL === undefined) {
    const found = await next(specifier, context);
    main ??= found.url;
    return found;
  }
  if (/^(kitbag|zod)(\/|$)/.test(specifier)) return resolveShared(specifier, parentURL, asNode);
  let failure: unknown;
  const found = await asNode().catch((error: unknown) => void (failure = error));
  // Packages and tests resolve modules as Node.js does, and fall back to the resolution of a build.
  if (found !== undefined && (!isAuthorModule(parentURL) || isTest(parentURL) || found.url.startsWith("node:"))) return found;
  const file = parentURL.startsWith("file:") ? await resolveAsBuild(specifier, fileURLToPath(parentURL)) : undefined;
  if (file === undefined) {
    if (found !== undefined) return found;
    throw failure;
  }
  const url = pathToFileURL(file).href;
  if (url === found?.url) return found;
  if (!isAuthorModule(url) && (await isModule(file))) return { url: url + BUNDLED, format: "module", shortCircuit: true };
  return next(url, { ...context, parentURL });
};

/** Resolves this package and zod. As in a build, the SDK and the toolkit share one copy: the author's, else the SDK's own. */
async function resolveShared(specifier: string, parentURL: string, asNode: Resolve): Promise<ResolveFnOutput> {
  const isOwn = parentURL.startsWith(PACKAGE);
  if (!isOwn && /^kitbag(\/|$)/.test(specifier)) author ??= parentURL;
  const places = isOwn && SCHEMA_LIBRARY.test(specifier) ? [author, STARTED_IN, parentURL] : [parentURL, import.meta.url];
  for (const from of places.filter((it) => it !== undefined)) {
    try {
      return await asNode(from);
    } catch {
      // Try the next place; if all fail, the error for the last one is thrown.
    }
  }
  return asNode(places.at(-1));
}

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
