// Packages for which a build uses other files than Node.js: a test gets those files, bundled as in a build.
import { readFile } from "node:fs/promises";

import { init, parse } from "es-module-lexer";
import type { Plugin } from "esbuild";

import { bundle } from "../build/bundle.js";

/** Whether a file is an ECMAScript module by its content. Node.js decides by its name and its package.json. */
export async function isModule(file: string): Promise<boolean> {
  if (!/\.[mc]?js$/.test(file)) return false;
  await init;
  try {
    return parse(await readFile(file, "utf8"))[3];
  } catch {
    return false;
  }
}

/** Returns the source of a module that bundles a package's module `file` with its imports. */
export async function bundledPackage(file: string): Promise<string> {
  const [, exports] = parse(await readFile(file, "utf8"));
  const from = JSON.stringify(file);
  const all = `export * from ${from};${exports.some((it) => it.type !== "reexport-all" && it.name === "default") ? ` export { default } from ${from};` : ""}`;
  const { code, map } = await bundle(file, all, "reading", [sharedSchemaLibrary()]);
  return `${code}\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}\n`;
}

/** Keeps zod external, so that a package and the toolkit share one copy. */
function sharedSchemaLibrary(): Plugin {
  return {
    name: "shared-zod",
    setup: (build) => build.onResolve({ filter: /^zod(\/|$)/ }, ({ path }) => ({ path, external: true })),
  };
}
