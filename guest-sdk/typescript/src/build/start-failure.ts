// Explains failures at the start of a bundle, with positions in the author's files and in imported packages.
import { resolve } from "node:path";

import { AnyMap, originalPositionFor } from "@jridgewell/trace-mapping";

import { limitsOfCalls } from "../rules.js";
import { isAuthorSource, type Bundle } from "./bundle.js";
import { BuildFailure } from "./failure.js";
import { mebibytes } from "./memory.js";
import { importChain } from "./node-modules.js";
import { PACKAGE } from "./package.js";

/** Maximum number of stack frames in the message. */
const MAX_FRAMES = 8;
/** Error of the engine for a top level that uses too much memory. */
const OUT_OF_MEMORY = /^the module's top level takes more than \d+ MiB of memory/;
/** Errors of the engine for operations that are allowed only during a call. */
const ONLY_IN_A_CALL = /^the module's top level (asks|sets|sends|writes|reads|searches)/;

/** esbuild's functions that run a module on its first import. */
const MODULE_LOADER = /^\s*at __(?:require|init)\b/;

/** Returns the failure for the author. `error` is an exception with its stack in the bundle; `root` the entry's folder. */
export function failureAtStart(error: string, bundle: Bundle, root: string): BuildFailure {
  return new BuildFailure("source", `the toolkit cannot start in the sandbox:\n${startFailureText(error, bundle, root)}`);
}

function startFailureText(error: string, bundle: Bundle, root: string): string {
  const files: string[] = [];
  const lines = framesOf(error, bundle).flatMap(({ line, place, original }) => {
    if (place === undefined) return /\(native\)$/.test(line) ? [] : [line];
    if (original === undefined || isSdkFile(original.source, root) || files.length === MAX_FRAMES) return [];
    files.push(original.source);
    return [line.replace(place, `${shortPath(original.source)}:${original.line}:${original.column + 1}`)];
  });
  const shown = lines.filter((line) => line.trim() !== "");
  const file = isOwn(error, bundle, root) ? undefined : files[0];
  return [...shown, ...advice(shown[0] ?? "", file, bundle.metafile)].join("\n");
}

/** Whether the author's own code failed or called the failing code; otherwise the import of a package failed. */
export function isOwn(error: string, bundle: Bundle, root: string): boolean {
  for (const { line, original } of framesOf(error, bundle)) {
    if (MODULE_LOADER.test(line)) return false;
    if (original !== undefined && isAuthorSource(original.source, root)) return true;
  }
  return false;
}

/** Returns the import chain of the file in the first frame. */
export function chainTo(error: string, bundle: Bundle, root: string): string | undefined {
  const frame = framesOf(error, bundle).find(({ original }) => original !== undefined && !isSdkFile(original.source, root));
  return frame === undefined ? undefined : importChain(frame.original!.source, bundle.metafile);
}

interface Frame {
  line: string;
  /** Position in the bundle, as written in the line; absent if the line is not a frame of the bundle. */
  place?: string;
  /** Position in a source file, if there is one. Lines count from 1, columns from 0. */
  original?: { source: string; line: number; column: number };
}

function framesOf(error: string, { map: json }: Bundle): Frame[] {
  const map = new AnyMap(json);
  return error.split("\n").map((line) => {
    const [place, , row = 0, column = 0] = /([^\s(]*toolkit\.js):(\d+):(-?\d+)/.exec(line) ?? [];
    if (place === undefined) return { line };
    // The engine reports line 0 for code that it generates itself, such as the initializer of a class.
    if (Number(row) < 1 || Number(column) < 1) return { line, place };
    const at = originalPositionFor(map, { line: Number(row), column: Number(column) - 1 });
    return at.source === null ? { line, place } : { line, place, original: { source: at.source, line: at.line, column: at.column } };
  });
}

function advice(message: string, file: string | undefined, metafile: Bundle["metafile"]): string[] {
  const chain = file === undefined ? undefined : importChain(file, metafile);
  if (ONLY_IN_A_CALL.test(message)) {
    if (chain === undefined) return ["Move that into a handler: what the top level leaves is the same in every call."];
    return [`${chain}, which does that as soon as it is imported; \`await import(…)\` in a handler does it in the call`];
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
