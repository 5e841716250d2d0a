// Rules and error texts that handlers need, from rules.wasm. In a component, `#handler-rules` is
// sandbox/handler-rules.ts, with the same functions.
import { ask, limitsOfCalls } from "./rules.js";

export { allows } from "./rules.js";

/** Violation of a branch of a choice: number of levels below the value with the choice, and type of expectation. */
export type Violation = [depth: number, kind: "type" | "constant" | "other"];

/**
 * Branches that a value was probably meant for, as indexes: one `branch`, out of `of` candidates; or `discriminator`,
 * branches none of which accepts the value's discriminator; or `anyOf`, branches that are equally likely.
 */
export type Meant =
  | { branch: number; of: number; discriminator?: undefined }
  | { discriminator: number[]; branch?: undefined }
  | { anyOf: number[]; branch?: undefined; discriminator?: undefined };

/** Returns the `egress` entry that would allow the URL. */
export function entryFor(url: URL): string {
  return ask({ ask: "entry", url: url.href });
}

/** Returns an error text; `texts.ts` has a function for each. */
export function text(name: string, parts: string[]): string {
  return ask({ ask: "text", name, parts });
}

/** Determines the branch that a value was meant for from the violations of each branch. */
export function meant(branches: Violation[][]): Meant {
  return ask({ ask: "meant", branches });
}

/** Returns the maximum number of violations reported for one value. */
export function maxReported(): number {
  return limitsOfCalls().reportedViolations;
}
