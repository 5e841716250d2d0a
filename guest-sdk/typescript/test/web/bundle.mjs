// Bundles the cases, the web platform, and what runs them.
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Returns the sets of cases by name. */
export async function caseSets() {
  const sets = {};
  for (const file of await caseFiles()) sets[file.replace(".mjs", "")] = (await import(`./cases/${file}`)).default;
  return sets;
}

/** Returns a module whose default export is the promise of all outcomes. */
export async function bundledCases() {
  const files = await caseFiles();
  const sets = files.map((file, at) => `${JSON.stringify(file.replace(".mjs", ""))}: set${at}`);
  return bundled([
    ...files.map((file, at) => `import set${at} from ${JSON.stringify(`./cases/${file}`)};`),
    'import { runCases } from "./run.mjs";',
    `export default runCases({ ${sets.join(", ")} });`,
  ]);
}

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

async function caseFiles() {
  return (await readdir(`${HERE}cases`)).filter((file) => file.endsWith(".mjs")).sort();
}
