// Bundles modules for the engine's native build, which runs on this machine without WebAssembly.
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Bundles lines of a module with the web platform installed before them. */
export async function bundled(lines, plugins = []) {
  const result = await build({
    stdin: {
      contents: ['import "../../dist/sandbox/web/install.js";', ...lines].join("\n"),
      resolveDir: HERE,
      sourcefile: "cases.js",
    },
    write: false,
    bundle: true,
    format: "esm",
    target: "es2022",
    external: ["kitbag:*"],
    plugins,
    logLevel: "silent",
  });
  return result.outputFiles[0].text;
}
