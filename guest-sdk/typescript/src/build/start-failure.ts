// Explains why a bundle fails to start, with positions in the author's files and in the packages they import.
import { resolve } from "node:path";

import { AnyMap, originalPositionFor } from "@jridgewell/trace-mapping";

import { limitsOfCalls } from "../rules.js";
import type { Bundle } from "./bundle.js";
import { mebibytes } from "./memory.js";
import { importChain } from "./node-modules.js";
import { PACKAGE } from "./package.js";

/** Maximum number of stack frames in the message. */
const MAX_FRAMES = 8;
/** Error of the engine for a top level that takes too much memory. */
const OUT_OF_MEMORY = /^the module's top level takes more than \d+ MiB of memory/;
/** Errors of the engine for operations that are allowed only during a call. */
const ONLY_IN_A_CALL = /^the module's top level (asks|sets|sends|writes|reads|searches)/;

/**
 * Returns the message for the author. `error` is an exception with its stack in the bundle; `root` the
 * entry's folder.
 */
export function startFailureText(error: string, { map: json, metafile }: Bundle, root: string): string {
  const map = new AnyMap(json);
  const files: string[] = [];
  const lines = error.split("\n").flatMap((line) => {
    const place = /([^\s(]*toolkit\.js):(\d+):(\d+)/.exec(line);
    if (place === null) return /\(native\)$/.test(line) ? [] : [line];
    // The engine has no position for code that it makes itself, such as the initializer of a class: it says line 0.
    const [line1, column1] = [Number(place[2]), Number(place[3])];
    if (line1 < 1 || column1 < 1) return [];
    const original = originalPositionFor(map, { line: line1, column: column1 - 1 });
    if (original.source === null || isSdkFile(original.source, root) || files.length === MAX_FRAMES) return [];
    files.push(original.source);
    return [line.replace(place[0], `${shortPath(original.source)}:${original.line}:${original.column + 1}`)];
  });
  const shown = lines.filter((line) => line.trim() !== "");
  return [...shown, ...advice(shown[0] ?? "", files[0], metafile)].join("\n");
}

function advice(message: string, file: string | undefined, metafile: Bundle["metafile"]): string[] {
  const chain = file === undefined ? undefined : importChain(file, metafile);
  if (ONLY_IN_A_CALL.test(message)) {
    if (chain === undefined) return ["Move that into a handler: what the top level leaves is the same in every call."];
    return [`${chain}, which does that as soon as it is imported, and so cannot be in a toolkit. Another package may do without`];
  }
  if (OUT_OF_MEMORY.test(message)) {
    const call = mebibytes(limitsOfCalls().callMemory);
    return [`Each call begins with that memory, and has ${call} MiB in all on a server by default. Create in handlers what is large.`];
  }
  const where = /is not defined/.test(message) ? ["The sandbox is neither Node.js nor a browser page; docs/authoring.md lists what is there."] : [];
  return [...(chain === undefined ? [] : [chain]), ...where];
}

/** Whether a source is one of the SDK's own files, which are not shown to authors. */
function isSdkFile(source: string, root: string): boolean {
  return /^kitbag:/.test(source) || resolve(root, source).startsWith(resolve(PACKAGE, "dist"));
}

function shortPath(source: string): string {
  const at = source.lastIndexOf("node_modules/");
  return at === -1 ? source : source.slice(at);
}
