import { declarationOf } from "./declaration.js";
import { definer } from "./define.js";
import { manifestOf } from "./rules.js";

/**
 * Declares a toolkit. Throws a `DeclarationError` that lists all problems of the declaration with their
 * paths.
 *
 * The second argument, optional, is for tests.
 */
export const defineToolkit = definer((config) => {
  const declaration = declarationOf(config);
  return { declaration, manifest: manifestOf(declaration).manifest };
});

export { prompt, resource, tool, type DefineOptions, type FetchImplementation, type ToolkitDefinition } from "./define.js";
export { dispatch, type DispatchCall, type DispatchResult, type TestWorld } from "./local/dispatch.js";
export { toFetchHandler } from "./local/fetch-handler.js";
export { complete, getPrompt, readResource, type CompleteCall, type OfferResult, type ReceivedContents, type ReceivedMessage } from "./local/offers.js";
export type { Manifest } from "./manifest.js";
export { DeclarationError, type Problem } from "./problems.js";
export { CannotAskError, ToolError, type ToolErrorOptions } from "./tool-error.js";
export type * from "./types.js";
export { z } from "zod";
