// Runs a bundled module in the engine.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Returns the module's default export; `engine` is the example `run` of the engine's crate. */
export async function inEngine(engine, code) {
  const folder = await mkdtemp(join(tmpdir(), "kitbag-web-"));
  try {
    const file = join(folder, "cases.js");
    await writeFile(file, code);
    const { stdout } = await promisify(execFile)(engine, [file], { maxBuffer: 64 * 1024 * 1024 });
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true });
  }
}
