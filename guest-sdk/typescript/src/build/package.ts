import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Root folder of this package, with a trailing slash. */
export const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

/** Resolves a module from `directory`, else from this package; `undefined` if neither has it. */
export function locate(module: string, directory: string): string | undefined {
  for (const from of [`${directory}/_`, import.meta.url]) {
    try {
      return createRequire(from).resolve(module);
    } catch {
      // Try the next location.
    }
  }
  return undefined;
}

/** Returns the path of the nearest file or folder named `name` in `directory` or a parent. */
export function findUpwards(name: string, directory: string): string | undefined {
  const path = join(directory, name);
  if (existsSync(path)) return path;
  const above = dirname(directory);
  return above === directory ? undefined : findUpwards(name, above);
}
