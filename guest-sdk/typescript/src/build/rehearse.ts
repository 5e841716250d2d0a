// Builds of toolkits with packages whose modules use, on import, what is allowed in calls only, such as the time. The
// toolkit's modules then run at the beginning of each call (docs/decisions/0057).
import type { Use } from "../sandbox/rehearsal.js";
import type { Bundle } from "./bundle.js";
import { failureAtStart, isOwn } from "./start-failure.js";

/** Operations that are allowed in calls only, and that a rehearsal has substitutes for. */
const DEFERRABLE = /^the module's top level (?:asks for the time|asks for randomness|sets a timer)/;

/** Start of the error that ends a rehearsal; sandbox/rehearsal.ts throws it. */
const REHEARSED = /^Error: kitbag rehearsal: (.*)$/m;

/** Whether a failure at the start may be caused by packages alone; a rehearsal then decides. */
export function isDeferrable(error: string, bundle: Bundle, root: string): boolean {
  return DEFERRABLE.test(error) && !isOwn(error, bundle, root);
}

/**
 * Throws a `BuildFailure` if a rehearsal failed, or if the author's own code used what is allowed in calls only. `error`
 * is the error that ended the rehearsal.
 */
export function checkRehearsal(error: string, bundle: Bundle, root: string): void {
  const [, json] = REHEARSED.exec(error) ?? [];
  if (json === undefined) throw failureAtStart(error, bundle, root);
  for (const { action, stack } of JSON.parse(json) as Use[]) {
    const violation = `the module's top level ${action}\n${stack}`;
    if (isOwn(violation, bundle, root)) throw failureAtStart(violation, bundle, root);
  }
}

/** Returns a warning: which package makes each call run the toolkit's modules, and how to avoid the cost. */
export function deferralWarning(error: string, chain: string | undefined): string {
  const [, action] = /^the module's top level (.*)/.exec(error) ?? [];
  const [, name] = /"([^"]+)"$/.exec(chain?.split(", which imports ")[0] ?? "") ?? [];
  const who = chain === undefined ? "a package" : `${chain}, which`;
  const way = name === undefined ? "" : `; with \`await import(${JSON.stringify(name)})\` in a handler only that does`;
  return `${who} ${action} as soon as it is imported, so each call runs the modules of the toolkit first${way}`;
}
