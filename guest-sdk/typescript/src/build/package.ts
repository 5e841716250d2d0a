import { createRequire } from "node:module";
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
