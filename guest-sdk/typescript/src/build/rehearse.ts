// What the modules of packages may do only in a call, and how a toolkit with such packages is built: its modules run at the
// beginning of each call (docs/decisions/0057).
import type { Use } from "../sandbox/rehearsal.js";
import type { Bundle } from "./bundle.js";
import { failureAtStart, isOwn } from "./start-failure.js";

/** Uses that a call may have and that a rehearsal has substitutes for. */
const DEFERRABLE = /^the module's top level (?:asks for the time|asks for randomness|sets a timer)/;

/** Start of the error that ends a rehearsal; sandbox/rehearsal.ts throws it. */
const REHEARSED = /^Error: kitbag rehearsal: (.*)$/m;

/** Whether a failure at the start may be one of packages alone, which a rehearsal shows. */
export function isDeferrable(error: string, bundle: Bundle, root: string): boolean {
  return DEFERRABLE.test(error) && !isOwn(error, bundle, root);
}

/**
 * Throws a `BuildFailure` unless a rehearsal ended well and nothing but packages did what only a call may do. `error` is
 * the error that ended the rehearsal.
 */
export function checkRehearsal(error: string, bundle: Bundle, root: string): void {
  const [, json] = REHEARSED.exec(error) ?? [];
  if (json === undefined) throw failureAtStart(error, bundle, root);
  for (const { action, stack } of JSON.parse(json) as Use[]) {
    const violation = `the module's top level ${action}\n${stack}`;
    if (isOwn(violation, bundle, root)) throw failureAtStart(violation, bundle, root);
  }
}

/** Says which package makes each call run the toolkit's modules, and what to do if that takes too long. */
export function deferralWarning(error: string, chain: string | undefined): string {
  const [, action] = /^the module's top level (.*)/.exec(error) ?? [];
  const [, name] = /"([^"]+)"$/.exec(chain?.split(", which imports ")[0] ?? "") ?? [];
  const who = chain === undefined ? "a package" : `${chain}, which`;
  const way = name === undefined ? "" : `; with \`await import(${JSON.stringify(name)})\` in a handler only that does`;
  return `${who} ${action} as soon as it is imported, so each call runs the modules of the toolkit first${way}`;
}
