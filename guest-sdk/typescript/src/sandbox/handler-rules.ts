// Rules and error texts that handlers need, from the engine's native module `kitbag:rules`. The functions are those of
// ../handler-rules.ts.
import * as native from "kitbag:rules";

export { maxReported, meant, text } from "kitbag:rules";

export function allows(egress: readonly string[], url: URL): boolean {
  return native.allows(egress, url.href);
}

export function entryFor(url: URL): string {
  return native.entryFor(url.href);
}
