// Lists the cases.
import { readdir } from "node:fs/promises";

/** The sets that need the full variant of the engine, each in a toolkit of its own. */
const VARIANTS = ["crypto", "intl"];

/** Returns the sets of cases by name: those that every engine supports, or only the set `variant`. */
export async function caseSets(variant) {
  const files = await readdir(new URL("cases", import.meta.url));
  const names = files.map((file) => file.replace(".mjs", "")).sort();
  const wanted = names.filter((name) => (variant === undefined ? !VARIANTS.includes(name) : name === variant));
  const modules = await Promise.all(wanted.map((name) => import(`./cases/${name}.mjs`)));
  return Object.fromEntries(wanted.map((name, at) => [name, modules[at].default]));
}
