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
