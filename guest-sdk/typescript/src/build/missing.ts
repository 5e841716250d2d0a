import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Common uses of APIs that the sandbox lacks. Others fail with a clear error by themselves. */
const MISSING: [pattern: RegExp, what: string][] = [
  [/\bBuffer\.(?:from|alloc)/, "Buffer is not there: use Uint8Array, TextEncoder, btoa and atob"],
  [/\bprocess\.env\b/, "there is no environment: declare a setting in config, or a credential in secrets"],
];

/** Returns a warning for each use of such an API in the author's files. */
export async function missingParts(root: string, sources: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const source of sources.filter((path) => /\.[mc]?[jt]sx?$/.test(path))) {
    const lines = (await readFile(join(root, source), "utf8")).split("\n");
    lines.forEach((text, index) => {
      if (/^\s*(\/\/|\*)/.test(text)) return;
      for (const [pattern, what] of MISSING) {
        if (pattern.test(text)) found.push(`${source}:${index + 1}: in the sandbox ${what}`);
      }
    });
  }
  return found;
}
