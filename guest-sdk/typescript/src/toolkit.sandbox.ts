// `kitbag/extend/toolkit` inside the sandbox. The declaration was checked when the component was built, so a
// component contains neither the rules nor `dispatch`.
import { definer } from "./define.js";

export const defineToolkit = definer(() => ({}));

export { prompt, resource, tool } from "./define.js";
export { CannotAskError, ToolError } from "./tool-error.js";
export { z } from "zod";

export class DeclarationError extends Error {}

export function dispatch(): never {
  throw new Error("dispatch is for tests, outside the sandbox");
}

export const [getPrompt, readResource, complete] = ["getPrompt", "readResource", "complete"].map((name) => (): never => {
  throw new Error(`${name} is for tests, outside the sandbox`);
});

export function toFetchHandler(): never {
  throw new Error("toFetchHandler is for tests, outside the sandbox");
}
