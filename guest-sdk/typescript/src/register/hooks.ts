// Module hooks: types are dropped on the way in, nothing is checked.
import { readFile } from "node:fs/promises";
import type { LoadHook, ResolveHook } from "node:module";
import { fileURLToPath } from "node:url";

import { transform } from "esbuild";

const TYPESCRIPT = /\.[mc]?ts$/;

export const resolve: ResolveHook = async (specifier, context, next) => {
  try {
    return await next(specifier, context);
  } catch (error) {
    // TypeScript spells the import of a.ts as a.js. And where nothing is installed, this package stands in.
    if (/^\.{1,2}\/.*\.[mc]?js$/.test(specifier)) return next(specifier.replace(/js$/, "ts"), context);
    if (/^(kitbag|zod)(\/|$)/.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
    throw error;
  }
};

export const load: LoadHook = async (url, context, next) => {
  if (!url.startsWith("file:") || !TYPESCRIPT.test(new URL(url).pathname)) return next(url, context);
  const file = fileURLToPath(url);
  const { code } = await transform(await readFile(file, "utf8"), {
    loader: "ts",
    format: "esm",
    target: "es2022",
    sourcefile: file,
    sourcemap: "inline",
  });
  return { format: "module", source: code, shortCircuit: true };
};
