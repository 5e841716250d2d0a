// Helpers of several tests.
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

/** Creates a temporary folder that is removed when the process exits. */
export async function temporary() {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "kitbag-test-")));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes files into a new folder and returns the folder. */
export async function folder(files) {
  const directory = await temporary();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
  return directory;
}

/** Runs `kitbag build`. */
export function kitbagBuild(entry, out, ...flags) {
  const args = [join(PACKAGE, "bin/kitbag.js"), "build", entry, "--out", out, ...flags];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => resolve({ status: error?.code ?? 0, stdout, stderr }));
  });
}

/** Imports an extension.ts; its types are dropped, and it shares this process's SDK. */
export async function importToolkit(entry, directory) {
  const outfile = join(directory, `toolkit-${Date.now()}.mjs`);
  const sdk = import.meta.resolve("kitbag/extend/toolkit");
  const plugin = {
    name: "sdk",
    setup: (it) => it.onResolve({ filter: /^kitbag\// }, () => ({ path: sdk, external: true })),
  };
  await build({ entryPoints: [entry], outfile, bundle: true, format: "esm", platform: "node", plugins: [plugin], logLevel: "error" });
  return (await import(pathToFileURL(outfile))).default;
}
