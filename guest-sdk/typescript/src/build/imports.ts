import type { Manifest } from "../manifest.js";

/** Interfaces that every toolkit may import: log and progress of the call, clocks, and random numbers. */
const ALWAYS = ["kitbag:toolkit/log", "kitbag:toolkit/progress", "wasi:clocks/monotonic-clock", "wasi:clocks/wall-clock", "wasi:io/poll", "wasi:random/random"];
const HTTP = ["wasi:http/outgoing-handler", "wasi:http/types", "wasi:io/error", "wasi:io/streams"];

/** Returns the interfaces, without their versions, that a component of this manifest may import. */
export function grantedInterfaces({ secrets, egress, scopes }: Manifest): string[] {
  return [
    ...ALWAYS,
    ...(egress.length > 0 ? HTTP : []),
    ...(secrets.length > 0 ? ["kitbag:toolkit/secrets"] : []),
    ...(scopes.includes("svc:search") ? ["kitbag:toolkit/search"] : []),
    ...(scopes.includes("svc:ingest") ? ["kitbag:toolkit/ingest"] : []),
    ...(scopes.includes("svc:ask") ? ["kitbag:toolkit/ask"] : []),
    ...(scopes.includes("svc:cache") ? ["kitbag:toolkit/cache"] : []),
  ];
}
