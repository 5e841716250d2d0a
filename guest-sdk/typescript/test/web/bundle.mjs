// Bundles the cases, the web platform, and what runs them.
import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** What only a variant of the engine has: a set of cases, and the module that installs it. */
const VARIANTS = { crypto: "../../dist/sandbox/web/subtle.js", intl: "../../dist/sandbox/web/intl.js" };

/** Returns the sets of cases by name: those of all engines, or that of a variant. */
export async function caseSets(variant) {
  const sets = {};
  for (const file of await caseFiles(variant)) sets[file.replace(".mjs", "")] = (await import(`./cases/${file}`)).default;
  return sets;
}

/** Returns a module whose default export is the promise of all outcomes. */
export async function bundledCases(variant) {
  const files = await caseFiles(variant);
  const sets = files.map((file, at) => `${JSON.stringify(file.replace(".mjs", ""))}: set${at}`);
  return bundled([
    ...(variant === undefined ? [] : [`import ${JSON.stringify(VARIANTS[variant])};`]),
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

async function caseFiles(variant) {
  const files = (await readdir(`${HERE}cases`)).filter((file) => file.endsWith(".mjs")).sort();
  return files.filter((file) => (variant === undefined ? !(file.replace(".mjs", "") in VARIANTS) : file === `${variant}.mjs`));
}
