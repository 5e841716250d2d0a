// Why a bundle does not start, in the words of the author's own files, and of the packages that they import.
import { resolve } from "node:path";

import { AnyMap, originalPositionFor } from "@jridgewell/trace-mapping";

import type { Bundle } from "./bundle.js";
import { wayTo } from "./node-modules.js";
import { PACKAGE } from "./package.js";

/** As many places as tell where something is. */
const MAX_PLACES = 8;
/** What the engine says of what belongs into a call. */
const ONLY_IN_A_CALL = /^the module's top level (asks|sets|sends|writes|reads|searches)/;

/** Returns what to tell the author; `why` is an exception's text and stack in the bundle, whose entry lies in `root`. */
export function startFailureText(why: string, { map: json, metafile }: Bundle, root: string): string {
  const map = new AnyMap(json);
  const files: string[] = [];
  const lines = why.split("\n").flatMap((line) => {
    const place = /([^\s(]*toolkit\.js):(\d+):(\d+)/.exec(line);
    if (place === null) return /\(native\)$/.test(line) ? [] : [line];
    const original = originalPositionFor(map, { line: Number(place[2]), column: Number(place[3]) - 1 });
    if (original.source === null || isOurs(original.source, root) || files.length === MAX_PLACES) return [];
    files.push(original.source);
    return [line.replace(place[0], `${shortPath(original.source)}:${original.line}:${original.column + 1}`)];
  });
  const told = lines.filter((line) => line.trim() !== "");
  return [...told, ...advice(told[0] ?? "", files[0], metafile)].join("\n");
}

function advice(said: string, file: string | undefined, metafile: Bundle["metafile"]): string[] {
  const way = file === undefined ? undefined : wayTo(file, metafile);
  if (ONLY_IN_A_CALL.test(said)) {
    if (way === undefined) return ["Move that into a handler: what the top level leaves is the same in every call."];
    return [`${way}, which does that as soon as it is imported, and so cannot be in a toolkit. Another package may do without`];
  }
  const where = /is not defined/.test(said) ? ["The sandbox is neither Node.js nor a browser page; docs/authoring.md lists what is there."] : [];
  return [...(way === undefined ? [] : [way]), ...where];
}

/** The SDK's own files tell an author nothing. */
function isOurs(source: string, root: string): boolean {
  return /^kitbag:/.test(source) || resolve(root, source).startsWith(resolve(PACKAGE, "dist"));
}

function shortPath(source: string): string {
  const at = source.lastIndexOf("node_modules/");
  return at === -1 ? source : source.slice(at);
}
