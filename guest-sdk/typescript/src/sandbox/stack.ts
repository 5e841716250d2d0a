// Failures in the words of the author's own files.

/** Where the author's code went in the bundle. */
export interface EmbeddedMap {
  /** The bundle's name in stack traces. */
  file: string;
  sources: string[];
  /** As in a source map, with the segments of the author's files alone. */
  mappings: string;
}

/** Most of a failure that is kept: a log has a budget. */
const MAX_LENGTH = 16 * 1024;

/** Finds the author's line for a place in the bundle. Reads the map when it is first asked. */
export class FrameMap {
  readonly #map: EmbeddedMap;
  #lines: number[][][] | undefined;

  constructor(map: EmbeddedMap) {
    this.#map = map;
  }

  /** Returns `extension.ts:12:5`; nothing for code that is not the author's. Lines and columns count from 1. */
  find(line: number, column: number): string | undefined {
    this.#lines ??= decode(this.#map.mappings);
    const segments = this.#lines[line - 1] ?? [];
    let found: number[] | undefined;
    for (const segment of segments) {
      if (segment[0]! > column - 1) break;
      found = segment;
    }
    if (found === undefined || found.length < 4) return undefined;
    return `${this.#map.sources[found[1]!]}:${found[2]! + 1}:${found[3]! + 1}`;
  }

  /** The bundle's name in stack traces. */
  get file(): string {
    return this.#map.file;
  }
}

/** Tells the story of a failure for the log: what was thrown, where, and its causes. */
export function failureText(thrown: unknown, frames: FrameMap): string {
  const told: string[] = [];
  let error = thrown;
  for (let depth = 0; depth < 5 && error !== undefined; depth += 1) {
    told.push((depth === 0 ? "" : "Caused by: ") + one(error, frames));
    error = error instanceof Error ? error.cause : undefined;
  }
  return told.join("\n").slice(0, MAX_LENGTH);
}

function one(error: unknown, frames: FrameMap): string {
  if (!(error instanceof Error)) return `the handler threw ${shown(error)}`;
  const own = (error.stack ?? "").split("\n").flatMap((line) => frame(line, frames) ?? []);
  return [`${error.name}: ${error.message}`, ...own].join("\n");
}

function shown(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "something that cannot be shown";
  }
}

/** `handler@toolkit.js:10:27` → `    at handler (extension.ts:12:5)`; nothing for a frame of anybody else. */
function frame(line: string, frames: FrameMap): string | undefined {
  const match = /^(?:async\*)?(.*)@(.*?):(\d+):(\d+)$/.exec(line.trim());
  if (match === null || !match[2]!.endsWith(frames.file)) return undefined;
  const place = frames.find(Number(match[3]), Number(match[4]));
  if (place === undefined) return undefined;
  const name = match[1]!.replace(/[/<]+$/, "");
  return name === "" ? `    at ${place}` : `    at ${name} (${place})`;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Decodes the mappings of a source map into segments `[column, source, line, column]` of each line. */
function decode(mappings: string): number[][][] {
  const previous = [0, 0, 0, 0, 0];
  return mappings.split(";").map((line) => {
    previous[0] = 0;
    return line === "" ? [] : line.split(",").map((segment) => decodeSegment(segment, previous));
  });
}

function decodeSegment(segment: string, previous: number[]): number[] {
  const fields: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    if (bits & 32) {
      shift += 5;
      continue;
    }
    const field = fields.length;
    previous[field]! += value & 1 ? -(value >>> 1) : value >>> 1;
    fields.push(previous[field]!);
    [value, shift] = [0, 0];
  }
  return fields;
}
