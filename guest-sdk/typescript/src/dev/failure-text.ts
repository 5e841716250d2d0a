import { FrameMap } from "../sandbox/stack.js";

/** How many causes of a failure are told. */
const MAX_CAUSES = 5;

/** Tells a failure and its causes, in the lines of the bundle. */
export function failureText(thrown: unknown): string {
  const told: string[] = [];
  let error = thrown;
  for (let depth = 0; depth < MAX_CAUSES && error !== undefined; depth += 1) {
    const text = error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : `the handler threw ${String(error)}`;
    told.push((depth === 0 ? "" : "Caused by: ") + text);
    error = error instanceof Error ? error.cause : undefined;
  }
  return told.join("\n");
}

/** The same in the lines of the author's files; frames of anybody else are left out. */
export function inAuthorsLines(text: string, frames: FrameMap): string {
  const lines = text.split("\n").flatMap((line) => {
    if (!/^\s+at /.test(line)) return [line];
    const place = /^(\s+at (?:async )?(?:[^(]+ )?\(?)([^\s(]*):(\d+):(\d+)\)?$/.exec(line);
    const own = place !== null && place[2] === frames.file ? frames.find(Number(place[3]), Number(place[4])) : undefined;
    return own === undefined ? [] : [line.replace(`${place![2]}:${place![3]}:${place![4]}`, own)];
  });
  return lines.join("\n");
}
