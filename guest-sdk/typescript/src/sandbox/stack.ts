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

/** Numbers of one place: line and column in the bundle, source (-1 for none), line and column there. */
const WIDTH = 5;

/** Finds the author's line for a place in the bundle. */
export class FrameMap {
  /** The bundle's name in stack traces. */
  readonly file: string;
  readonly #sources: string[];
  /** Places in order. */
  readonly #places: Int32Array;

  constructor({ file, sources, mappings }: EmbeddedMap) {
    this.file = file;
    this.#sources = sources;
    this.#places = decode(mappings);
  }

  /** Returns `extension.ts:12:5`; nothing for code that is not the author's. Lines and columns count from 1. */
  find(line: number, column: number): string | undefined {
    const places = this.#places;
    let [low, high] = [0, places.length / WIDTH];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = middle * WIDTH;
      const before = places[at]! - (line - 1) || places[at + 1]! - (column - 1);
      if (before <= 0) low = middle + 1;
      else high = middle;
    }
    const at = (low - 1) * WIDTH;
    if (low === 0 || places[at] !== line - 1 || places[at + 2] === -1) return undefined;
    return `${this.#sources[places[at + 2]!]}:${places[at + 3]! + 1}:${places[at + 4]! + 1}`;
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

/** `at handler (toolkit.js:10:27)` → `at handler (extension.ts:12:5)`; nothing for a frame of anybody else. */
function frame(line: string, frames: FrameMap): string | undefined {
  const match = /^at (?:(.*) \()?(.*?):(\d+):(\d+)\)?$/.exec(line.trim());
  if (match === null || !match[2]!.endsWith(frames.file)) return undefined;
  const place = frames.find(Number(match[3]), Number(match[4]));
  if (place === undefined) return undefined;
  const name = match[1] ?? "<anonymous>";
  return name === "<anonymous>" ? `    at ${place}` : `    at ${name} (${place})`;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Decodes the mappings of a source map. */
function decode(mappings: string): Int32Array {
  const places: number[] = [];
  let [source, sourceLine, sourceColumn] = [0, 0, 0];
  mappings.split(";").forEach((segments, line) => {
    let column = 0;
    for (const segment of segments === "" ? [] : segments.split(",")) {
      const [columnStep = 0, ...steps] = decodeSegment(segment);
      column += columnStep;
      if (steps.length < 3) {
        places.push(line, column, -1, 0, 0);
        continue;
      }
      source += steps[0]!;
      sourceLine += steps[1]!;
      sourceColumn += steps[2]!;
      places.push(line, column, source, sourceLine, sourceColumn);
    }
  });
  return Int32Array.from(places);
}

function decodeSegment(segment: string): number[] {
  const fields: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    if (bits & 32) {
      shift += 5;
      continue;
    }
    fields.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return fields;
}
