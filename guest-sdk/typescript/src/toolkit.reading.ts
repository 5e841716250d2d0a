// `kitbag/extend/toolkit` while the build reads a declaration. The rules are checked by the process that
// reads it, and `dispatch` is not needed.
import { declarationOf } from "./declaration.js";
import { definer } from "./define.js";

export const defineToolkit = definer((config) => ({ declaration: declarationOf(config) }));

export { prompt, resource, tool } from "./define.js";
export { complete, dispatch, getPrompt, readResource, toFetchHandler } from "./toolkit.sandbox.js";
export { DeclarationError } from "./problems.js";
export { CannotAskError, ToolError } from "./tool-error.js";
export { z } from "zod";
