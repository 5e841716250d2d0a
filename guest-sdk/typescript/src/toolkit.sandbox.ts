// What `kitbag/extend/toolkit` is inside the sandbox. The rules were kept when the component was made,
// and there is nothing to test: neither has to be in it.
import { definer } from "./define.js";

export const defineToolkit = definer(() => ({}));

export { tool } from "./define.js";
export { ToolError } from "./tool-error.js";
export { z } from "zod";

export class DeclarationError extends Error {}

export function dispatch(): never {
  throw new Error("dispatch is for tests, outside the sandbox");
}

export function toFetchHandler(): never {
  throw new Error("toFetchHandler is for tests, outside the sandbox");
}
