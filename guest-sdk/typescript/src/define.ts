import type { PromptArguments, PromptDefinition, ResourceDefinition, Schema, ToolDefinition, ToolkitConfig } from "./types.js";
import type { Declaration } from "./declaration.js";
import type { Manifest } from "./manifest.js";

/** A function like `fetch` that answers requests in tests. */
export type FetchImplementation = {
  // A method's parameters are compared bivariantly, so a mock may accept only strings, for example.
  call(url: string | URL | Request, init?: RequestInit): Promise<Response> | Response;
}["call"];

/** Options of `defineToolkit`, for tests. */
export interface DefineOptions {
  /** Answers the requests that `egress` allows. By default they go to the network. */
  fetchImpl?: FetchImplementation | undefined;
}

/** A toolkit: the result of `defineToolkit`, and the default export of `extension.ts`. */
export interface ToolkitDefinition {
  /** The argument of `defineToolkit`. */
  readonly config: ToolkitConfig;
  /** The declaration as plain data. Absent in the sandbox. */
  readonly declaration: Declaration;
  /**
   * The declaration with all defaults filled in, as in `manifest.json`. Absent in the sandbox and during a
   * build.
   */
  readonly manifest: Manifest;
  /** The options of `defineToolkit`. */
  readonly options: DefineOptions;
}

const BRAND = Symbol.for("kitbag.toolkit");

/**
 * Creates a `defineToolkit` function; `read` returns the declaration's derived data, or throws if it is not
 * valid.
 */
export function definer(read: (config: unknown) => { declaration?: Declaration; manifest?: Manifest }) {
  return (config: ToolkitConfig, options: DefineOptions = {}): ToolkitDefinition =>
    Object.freeze({ ...read(config), config, options, [BRAND]: true }) as unknown as ToolkitDefinition;
}

/** Whether a value is a toolkit, also one made by another copy of this package. */
export function isToolkit(value: unknown): value is ToolkitDefinition {
  return typeof value === "object" && value !== null && BRAND in value;
}

/**
 * Returns its argument unchanged. It exists for its types: the handler's `args` get the type of `input`, and
 * its `structured` result that of `output`.
 */
export function tool<Input extends Schema, Output extends Schema | undefined = undefined>(
  definition: ToolDefinition<Input, Output>,
): ToolDefinition<Input, Output> {
  return definition;
}

/** Returns its argument unchanged, like `tool`. It types the handler's `args` with the names in `arguments`. */
export function prompt<const Arguments extends PromptArguments = Record<never, never>>(definition: PromptDefinition<Arguments>): PromptDefinition<Arguments> {
  return definition;
}

/** Returns its argument unchanged, like `tool`. It types the handler's `variables` with the names in `uri`. */
export function resource<const Uri extends string>(definition: ResourceDefinition<Uri>): ResourceDefinition<Uri> {
  return definition;
}
