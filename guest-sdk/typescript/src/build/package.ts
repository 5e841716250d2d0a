import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** Where this package is. */
export const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

/** Finds a module as a file of `directory` would, else as this package does. */
export function locate(module: string, directory: string): string | undefined {
  for (const from of [`${directory}/_`, import.meta.url]) {
    try {
      return createRequire(from).resolve(module);
    } catch {
      // The next one may have it.
    }
  }
  return undefined;
}

/** The version of a package that this one depends on. It may not export its own package.json. */
export function versionOf(name: string): string {
  const entry = fileURLToPath(import.meta.resolve(name));
  const root = entry.slice(0, entry.lastIndexOf(`node_modules/${name}/`) + `node_modules/${name}/`.length);
  return (JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string }).version;
}
