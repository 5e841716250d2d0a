import type { ToolDefinition, ToolkitConfig, Schema } from "./types.js";
import type { Declaration } from "./declaration.js";
import type { Manifest } from "./manifest.js";

/** A `fetch` that tests put in the place of the network. */
export type FetchImplementation = {
  // As a method, so that a mock may ask for less than every kind of URL.
  call(url: string | URL | Request, init?: RequestInit): Promise<Response> | Response;
}["call"];

/** What tests may change. */
export interface DefineOptions {
  /** Answers the requests that `egress` lets through. By default the network does. */
  fetchImpl?: FetchImplementation | undefined;
}

/** A toolkit, as `extension.ts` exports it. */
export interface ToolkitDefinition {
  /** What the author declared. */
  readonly config: ToolkitConfig;
  /** The same as plain data. Not in the sandbox. */
  readonly declaration: Declaration;
  /** The same with every default explicit: what `manifest.json` holds. Only where the rules are. */
  readonly manifest: Manifest;
  /** What tests changed. */
  readonly options: DefineOptions;
}

const BRAND = Symbol.for("kitbag.toolkit");

/** Makes the function that makes toolkits; `read` refuses a declaration that is wrong. */
export function definer(read: (config: unknown) => { declaration?: Declaration; manifest?: Manifest }) {
  return (config: ToolkitConfig, options: DefineOptions = {}): ToolkitDefinition =>
    Object.freeze({ ...read(config), config, options, [BRAND]: true }) as unknown as ToolkitDefinition;
}

/** Whether a module's default export is a toolkit, whichever copy of this package made it. */
export function isToolkit(value: unknown): value is ToolkitDefinition {
  return typeof value === "object" && value !== null && BRAND in value;
}

/** Returns its argument; `args` is typed from `input`, and `structured` from `output`. */
export function tool<Input extends Schema, Output extends Schema | undefined = undefined>(
  definition: ToolDefinition<Input, Output>,
): ToolDefinition<Input, Output> {
  return definition;
}
