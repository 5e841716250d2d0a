import { FrameMap } from "../sandbox/stack.js";

/** Maximum number of errors shown: the failure itself and its causes. */
const MAX_ERRORS = 5;

/** Describes a failure and its causes, with positions in the bundle. */
export function failureText(thrown: unknown): string {
  const texts: string[] = [];
  let error = thrown;
  for (let depth = 0; depth < MAX_ERRORS && error !== undefined; depth += 1) {
    const text = error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : `the handler threw ${String(error)}`;
    texts.push((depth === 0 ? "" : "Caused by: ") + text);
    error = error instanceof Error ? error.cause : undefined;
  }
  return texts.join("\n");
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
