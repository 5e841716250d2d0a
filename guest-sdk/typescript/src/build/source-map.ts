import { AnyMap, decodedMappings } from "@jridgewell/trace-mapping";

import type { EmbeddedMap } from "../sandbox/stack.js";
import { isAuthors } from "./bundle.js";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Keeps of a source map what tells about the author's files, which is little beside what they import. */
export function embeddedMap(json: string, file: string, root: string): EmbeddedMap {
  const map = new AnyMap(json);
  const kept = map.sources.map((source, index) => ({ source: source ?? "", index })).filter(({ source }) => isAuthors(source, root));
  const newIndex = new Map(kept.map(({ index }, position) => [index, position]));
  const previous = [0, 0, 0, 0];

  const lines = decodedMappings(map).map((segments) => {
    previous[0] = 0;
    const spelled: string[] = [];
    let inside = false;
    for (const segment of segments) {
      const source = segment.length >= 4 ? newIndex.get(segment[1]!) : undefined;
      if (source !== undefined) {
        spelled.push(spell([segment[0], source, segment[2]!, segment[3]!], previous));
        inside = true;
      } else if (inside) {
        // Where somebody else's code begins, the author's ends.
        spelled.push(spell([segment[0]], previous));
        inside = false;
      }
    }
    return spelled.join(",");
  });
  const end = lines.findLastIndex((line) => line !== "");
  return { file, sources: kept.map(({ source }) => source), mappings: lines.slice(0, end + 1).join(";") };
}

function spell(fields: number[], previous: number[]): string {
  return fields
    .map((field, index) => {
      const delta = field - previous[index]!;
      previous[index] = field;
      return vlq(delta);
    })
    .join("");
}

function vlq(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let spelled = "";
  do {
    const bits = rest & 31;
    rest >>>= 5;
    spelled += DIGITS[rest > 0 ? bits | 32 : bits];
  } while (rest > 0);
  return spelled;
}
