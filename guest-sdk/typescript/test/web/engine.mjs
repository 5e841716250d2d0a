// Runs a bundled module in the engine. TEST_ENGINE is the path of the example `run` of the engine's crate.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const ENGINE = process.env.TEST_ENGINE;

/** Returns the default export, awaited if it is a promise, and the log. */
export async function inEngine(code, engine = ENGINE) {
  const folder = await mkdtemp(join(tmpdir(), "kitbag-web-"));
  try {
    const file = join(folder, "cases.js");
    await writeFile(file, code);
    const { stdout, stderr } = await promisify(execFile)(engine, [file], { maxBuffer: 64 * 1024 * 1024 });
    return { value: JSON.parse(stdout), log: stderr };
  } finally {
    await rm(folder, { recursive: true });
  }
}
