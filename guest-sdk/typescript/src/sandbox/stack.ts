// Maps stack traces to lines of the author's files.

/** The part of a source map that covers the author's files. */
export interface EmbeddedMap {
  /** The bundle's name in stack traces. */
  file: string;
  sources: string[];
  /** `mappings` of a source map, with only the segments of the author's files. */
  mappings: string;
}

/** Maximum length of a failure's text in characters, because the size of a log is limited. */
const MAX_LENGTH = 16 * 1024;
/** Maximum number of errors described: the failure itself and its causes. */
const MAX_ERRORS = 5;
/** Matches a stack's line that is a frame. */
const FRAME = /^\s*at /;
/** Maximum number of described errors of an `AggregateError`. */
const MAX_AGGREGATED = 5;

/**
 * Numbers per mapping: line and column in the bundle, source (-1 for none), line and column in the source.
 */
const FIELDS = 5;

/** Maps positions in the bundle to positions in the author's files. */
export class FrameMap {
  /** The bundle's name in stack traces. */
  readonly file: string;
  readonly #sources: string[];
  /** Mappings in order of their position in the bundle, `FIELDS` numbers each. */
  readonly #mappings: Int32Array;

  constructor({ file, sources, mappings }: EmbeddedMap) {
    this.file = file;
    this.#sources = sources;
    this.#mappings = decode(mappings);
  }

  /** Whether a place in the form of `find` is in one of the author's files. */
  isPlace(place: string): boolean {
    return this.#sources.some((source) => place.startsWith(`${source}:`));
  }

  /**
   * Returns `extension.ts:12:5`; `undefined` for code that is not the author's. Lines and columns count from
   * 1.
   */
  find(line: number, column: number): string | undefined {
    const mappings = this.#mappings;
    let [low, high] = [0, mappings.length / FIELDS];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = middle * FIELDS;
      const difference = mappings[at]! - (line - 1) || mappings[at + 1]! - (column - 1);
      if (difference <= 0) low = middle + 1;
      else high = middle;
    }
    const at = (low - 1) * FIELDS;
    if (low === 0 || mappings[at] !== line - 1 || mappings[at + 2] === -1) return undefined;
    return `${this.#sources[mappings[at + 2]!]}:${mappings[at + 3]! + 1}:${mappings[at + 4]! + 1}`;
  }
}

/** Map of this call, decoded when a stack is first read. */
let current: (() => FrameMap) | undefined;

/** Maps the stacks of all errors to the author's files. Not during a build, which reads positions in the bundle. */
export function mapStacks(map: EmbeddedMap): void {
  if (current !== undefined) return;
  let decoded: FrameMap | undefined;
  current = () => (decoded ??= new FrameMap(map));
  const { get, set } = Object.getOwnPropertyDescriptor(Error.prototype, "stack")!;
  Object.defineProperty(Error.prototype, "stack", {
    get(this: Error) {
      const stack: unknown = get!.call(this);
      return typeof stack === "string" ? authorStack(stack) : stack;
    },
    set,
    configurable: true,
  });
}

/** Returns only the author's frames of a stack; outside of calls, the stack unchanged. */
export function authorStack(stack: string): string {
  if (current === undefined) return stack;
  const frames = current();
  return stack.split("\n").flatMap((line) => (FRAME.test(line) ? (mappedFrame(line, frames) ?? []) : line)).join("\n");
}

/** Describes a failure for the log: the thrown value, its inner errors, and its causes, with the author's frames. */
export function failureText(thrown: unknown, frames: FrameMap): string {
  const texts: string[] = [];
  let error = thrown;
  for (let depth = 0; depth < MAX_ERRORS && error !== undefined; depth += 1) {
    texts.push((depth === 0 ? "" : "Caused by: ") + errorText(error, frames));
    if (error instanceof AggregateError) texts.push(...aggregatedTexts(error, frames));
    error = error instanceof Error ? error.cause : undefined;
  }
  return texts.join("\n").slice(0, MAX_LENGTH);
}

function aggregatedTexts({ errors }: AggregateError, frames: FrameMap): string[] {
  const shown = errors.slice(0, MAX_AGGREGATED);
  return shown.map((error, index) => `Error ${index + 1} of ${errors.length}: ${errorText(error, frames)}`);
}

function errorText(error: unknown, frames: FrameMap): string {
  if (!(error instanceof Error)) return `the handler threw ${valueText(error)}`;
  return [`${error.name}: ${error.message}`, ...framesIn(error.stack ?? "", frames)].join("\n");
}

function framesIn(stack: string, frames: FrameMap): string[] {
  return stack.split("\n").flatMap((line) => mappedFrame(line, frames) ?? []);
}

function valueText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "something that cannot be shown";
  }
}

/**
 * Maps `at handler (toolkit.js:10:27)` to `at handler (extension.ts:12:5)`; a mapped frame stays unchanged. `undefined`
 * for frames of other code.
 */
function mappedFrame(line: string, frames: FrameMap): string | undefined {
  const match = /^at (?:(.*) \()?(.*?):(\d+):(\d+)\)?$/.exec(line.trim());
  if (match === null) return undefined;
  const [, , file, row, column] = match;
  const place = file!.endsWith(frames.file) ? frames.find(Number(row), Number(column)) : `${file}:${row}:${column}`;
  if (place === undefined || !frames.isPlace(place)) return undefined;
  const name = match[1] ?? "<anonymous>";
  return name === "<anonymous>" ? `    at ${place}` : `    at ${name} (${place})`;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Decodes the `mappings` of a source map to `FIELDS` numbers per mapping. */
function decode(mappings: string): Int32Array {
  const decoded: number[] = [];
  let [source, sourceLine, sourceColumn] = [0, 0, 0];
  mappings.split(";").forEach((segments, line) => {
    let column = 0;
    for (const segment of segments === "" ? [] : segments.split(",")) {
      const [columnStep = 0, ...steps] = decodeSegment(segment);
      column += columnStep;
      if (steps.length < 3) {
        decoded.push(line, column, -1, 0, 0);
        continue;
      }
      source += steps[0]!;
      sourceLine += steps[1]!;
      sourceColumn += steps[2]!;
      decoded.push(line, column, source, sourceLine, sourceColumn);
    }
  });
  return Int32Array.from(decoded);
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
