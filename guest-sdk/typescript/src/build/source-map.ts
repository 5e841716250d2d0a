import { AnyMap, decodedMappings } from "@jridgewell/trace-mapping";

import type { EmbeddedMap } from "../sandbox/stack.js";
import { isAuthorSource } from "./bundle.js";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Reduces a source map to the segments of the author's files, a small part of a bundle. */
export function embeddedMap(json: string, file: string, root: string): EmbeddedMap {
  const map = new AnyMap(json);
  const kept = map.sources.map((source, index) => ({ source: source ?? "", index })).filter(({ source }) => isAuthorSource(source, root));
  const newIndex = new Map(kept.map(({ index }, position) => [index, position]));
  const previous = [0, 0, 0, 0];

  const lines = decodedMappings(map).map((segments) => {
    previous[0] = 0;
    const encoded: string[] = [];
    let inside = false;
    for (const segment of segments) {
      const source = segment.length >= 4 ? newIndex.get(segment[1]!) : undefined;
      if (source !== undefined) {
        encoded.push(encodeSegment([segment[0], source, segment[2]!, segment[3]!], previous));
        inside = true;
      } else if (inside) {
        // A segment without a source marks the end of the author's code.
        encoded.push(encodeSegment([segment[0]], previous));
        inside = false;
      }
    }
    return encoded.join(",");
  });
  const end = lines.findLastIndex((line) => line !== "");
  return { file, sources: kept.map(({ source }) => source), mappings: lines.slice(0, end + 1).join(";") };
}

function encodeSegment(fields: number[], previous: number[]): string {
  return fields
    .map((field, index) => {
      const delta = field - previous[index]!;
      previous[index] = field;
      return encodeVlq(delta);
    })
    .join("");
}

function encodeVlq(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1;
  let encoded = "";
  do {
    const bits = rest & 31;
    rest >>>= 5;
    encoded += DIGITS[rest > 0 ? bits | 32 : bits];
  } while (rest > 0);
  return encoded;
}
