// From the bundle to the component.
import { fork } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Manifest } from "../manifest.js";
import { FrameMap, type EmbeddedMap } from "../sandbox/stack.js";
import { BuildFailure } from "./failure.js";
import type { Reporter } from "./reporter.js";
import { granted, sandboxedWorld, type Contract } from "./world.js";

/** The bundle's name in stack traces. */
export const BUNDLE = "toolkit.js";

/** Makes the component of a bundle that imports what `manifest` declares. */
export async function makeComponent(code: string, contract: Contract, manifest: Manifest, map: EmbeddedMap, report: Reporter): Promise<Uint8Array> {
  const may = granted(manifest);
  const directory = await mkdtemp(join(tmpdir(), "kitbag-build-"));
  try {
    await mkdir(join(directory, "wit"));
    await writeFile(join(directory, "wit", "toolkit.wit"), sandboxedWorld(contract, may));
    await writeFile(join(directory, BUNDLE), code);
    await componentize(directory, may.http, map, report);
    return await readFile(join(directory, "component.wasm"));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs in a process of its own: what the author's code prints while it starts must not mix with ours. */
function componentize(directory: string, http: boolean, map: EmbeddedMap, report: Reporter): Promise<void> {
  const script = new URL("./componentize-process.js", import.meta.url);
  const child = fork(script, [directory, BUNDLE, http ? "http" : "no-http"], {
    cwd: directory,
    env: { ...process.env, TMPDIR: directory },
    execArgv: ["--no-warnings"],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let said = "";
  child.stdout!.setEncoding("utf8").on("data", (text: string) => text.trimEnd().split("\n").forEach((line) => report.printed(line)));
  child.stderr!.setEncoding("utf8").on("data", (text: string) => (said += text));
  return new Promise((resolve, reject) => {
    let failure: string | undefined;
    child.once("message", (message: { failure?: string }) => (failure = message.failure));
    child.once("error", (error) => reject(new BuildFailure("toolchain", `cannot start the component maker: ${error.message}`)));
    child.once("close", (status) => {
      if (status === 0 && failure === undefined) return resolve();
      const output = failure ?? (said.trim() || `it ended with status ${status}`);
      reject(new BuildFailure("source", `the toolkit cannot start in the sandbox:\n${readable(output, map)}`));
    });
  });
}

/** Brings places in the bundle back to the author's files, and leaves out what is about the maker. */
function readable(output: string, map: EmbeddedMap): string {
  const frames = new FrameMap(map);
  const lines = output.split("\n").flatMap((line) => {
    const place = /([^\s@]*toolkit\.js):(\d+):(\d+)/.exec(line);
    if (place === null) return /wizer|wasm backtrace|<unknown>|wasm function|^\s*\d+:\s+0x/i.test(line) ? [] : [line];
    const own = frames.find(Number(place[2]), Number(place[3]));
    return own === undefined ? [] : [line.replace(place[0], own)];
  });
  const told = lines.filter((line) => line.trim() !== "").join("\n");
  if (/is not defined/.test(told)) {
    return `${told}\nThe sandbox is neither Node.js nor a browser page; docs/authoring.md lists what is there.`;
  }
  if (/wasm trap|unreachable/.test(told)) {
    return "the module's top level does what only a call may do: it asks for the time by performance.now(), sets a timer, or sends a request. Move that into a handler";
  }
  return told;
}
