// Resolves imports with esbuild, exactly as a build does.
import { dirname } from "node:path";

import { build, type PluginBuild } from "esbuild";

import { RESOLUTION } from "../build/resolution.js";

let resolver: Promise<PluginBuild> | undefined;

/** Resolves an import in the file `importer` to a file; `undefined` if there is none. */
export async function resolveAsBuild(specifier: string, importer: string): Promise<string | undefined> {
  resolver ??= startResolver();
  const { resolve } = await resolver;
  const { path, errors, external, namespace } = await resolve(specifier, { importer, resolveDir: dirname(importer), kind: "import-statement" });
  return errors.length > 0 || external || namespace !== "file" ? undefined : path;
}

/** esbuild resolves only for a plugin of a running build, so this one runs until the process ends. */
function startResolver(): Promise<PluginBuild> {
  return new Promise((resolve, reject) => {
    const endless = new Promise<void>(() => {});
    const plugin = {
      name: "resolver",
      setup: (running: PluginBuild) =>
        running.onStart(() => {
          resolve(running);
          return endless;
        }),
    };
    build({ ...RESOLUTION, stdin: { contents: "" }, bundle: true, write: false, logLevel: "silent", plugins: [plugin] }).catch(reject);
  });
}
