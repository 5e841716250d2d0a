import { FrameMap } from "../sandbox/stack.js";

/** Maximum number of errors shown: the failure and its causes. Also the maximum shown of an `AggregateError`'s errors. */
const MAX_ERRORS = 5;

/** Describes a failure and its causes, with positions in the bundle. */
export function failureText(thrown: unknown): string {
  const texts: string[] = [];
  let error = thrown;
  for (let depth = 0; depth < MAX_ERRORS && error !== undefined; depth += 1) {
    const text = errorText(error);
    texts.push((depth === 0 ? "" : "Caused by: ") + text);
    if (error instanceof AggregateError) texts.push(...aggregatedTexts(error));
    error = error instanceof Error ? error.cause : undefined;
  }
  return texts.join("\n");
}

function aggregatedTexts({ errors }: AggregateError): string[] {
  const shown = errors.slice(0, MAX_ERRORS);
  return shown.map((error, index) => `Error ${index + 1} of ${errors.length}: ${errorText(error)}`);
}

function errorText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : `the handler threw ${String(error)}`;
}

/** Maps the stack frames in a text to the author's files, and removes all other frames. */
export function withAuthorFrames(text: string, frames: FrameMap): string {
  const lines = text.split("\n").flatMap((line) => {
    if (!/^\s+at /.test(line)) return [line];
    const place = /^(\s+at (?:async )?(?:[^(]+ )?\(?)([^\s(]*):(\d+):(\d+)\)?$/.exec(line);
    const own = place !== null && place[2] === frames.file ? frames.find(Number(place[3]), Number(place[4])) : undefined;
    return own === undefined ? [] : [line.replace(`${place![2]}:${place![3]}:${place![4]}`, own)];
  });
  return lines.join("\n");
}

/** Maps stack frames in a log entry, where each frame is a separate string. */
export function withAuthorPlaces(entry: unknown, frames: FrameMap): string {
  const places = new RegExp(`${frames.file}:(\\d+):(\\d+)`, "g");
  return JSON.stringify(entry).replace(places, (place, row, column) => frames.find(Number(row), Number(column)) ?? place);
}
