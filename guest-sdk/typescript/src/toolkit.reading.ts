// What `kitbag/extend/toolkit` is while a declaration is read: whoever reads it has the rules, and tests nothing.
import { declarationOf } from "./declaration.js";
import { definer } from "./define.js";

export const defineToolkit = definer((config) => ({ declaration: declarationOf(config) }));

export { tool } from "./define.js";
export { dispatch, toFetchHandler } from "./toolkit.sandbox.js";
export { DeclarationError } from "./problems.js";
export { ToolError } from "./tool-error.js";
export { z } from "zod";
