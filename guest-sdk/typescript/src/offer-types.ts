// Types of prompts and resources.
import type { ToolContent, ToolContext } from "./types.js";

/**
 * Suggests values while a user types. `typed` is the text so far, `others` has the known values of the other arguments.
 * Clients get at most the first 100 values.
 */
export type Completer = (typed: string, ctx: ToolContext, others: Readonly<Record<string, string>>) => Promise<readonly string[]> | readonly string[];

/** Completion of a prompt's argument or a resource's variable: a fixed list, or a function. */
export interface Proposals {
  /** Fixed values, at most 100. Those that begin with the typed text are suggested. */
  values?: readonly string[] | undefined;
  /** Function that suggests values. Not together with `values`. */
  complete?: Completer | undefined;
}

/** One argument of a prompt. Its value is a string. */
export interface PromptArgument extends Proposals {
  /** Display name. */
  title?: string | undefined;
  /** Tells the user what to fill in. */
  description?: string | undefined;
  /** Whether the user must fill in the argument. By default false. */
  required?: boolean | undefined;
}

/** The arguments of a prompt by name, in the order in which clients ask for them. */
export type PromptArguments = { readonly [name: string]: PromptArgument };

/** Values of a prompt's arguments, by name. Optional ones may be absent. */
export type PromptValues<Arguments extends PromptArguments> = {
  readonly [Name in keyof Arguments]: Arguments[Name] extends { required: true } ? string : string | undefined;
};

/** One message of a prompt. */
export interface PromptMessage {
  role: "user" | "assistant";
  /** A text, or a content block as in a tool's result. A relative link such as `issues/7` is to the toolkit's resource. */
  content: string | { type: "text"; text: string } | ToolContent;
}

/** Return value of a prompt's handler: messages, or a string for a single message of the user. */
export type PromptResult = string | { messages: readonly PromptMessage[] };

/** One prompt of a toolkit: messages that a user picks in their client. */
export interface PromptDefinition<Arguments extends PromptArguments = PromptArguments> {
  /** Matches `[a-zA-Z0-9_-]+`, unique among the toolkit's prompts. Listed as `{id}__{name}`. */
  name: string;
  /** Display name. */
  title?: string | undefined;
  /** Tells the user what the prompt is for. */
  description: string;
  /** Arguments to ask the user for, by name. */
  arguments?: (Arguments & PromptArguments) | undefined;
  /** Returns the messages. Errors are treated like those of a tool's handler. */
  handler(args: PromptValues<Arguments>, ctx: ToolContext): Promise<PromptResult> | PromptResult;
}

/** The names of the variables of a URI such as `issues/{number}`. */
export type VariablesOf<Uri extends string> = Uri extends `${string}{${infer Name}}${infer Rest}` ? Name | VariablesOf<Rest> : never;

/**
 * Return value of a resource's handler: a text, or an object with a text or bytes (raw or in base64). `mimeType`
 * overrides the declared media type.
 */
export type ResourceResult =
  | string
  | { text: string; mimeType?: string | undefined; blob?: never }
  | { blob: Uint8Array | string; mimeType?: string | undefined; text?: never };

/** Resource of a toolkit: a document that a client reads by its URI. A URI with variables stands for many documents. */
export interface ResourceDefinition<Uri extends string = string> {
  /** Matches `[a-zA-Z0-9_-]+`, unique among the toolkit's resources. */
  name: string;
  /** Display name. */
  title?: string | undefined;
  /** Tells users and models what the resource contains. */
  description: string;
  /**
   * URI relative to `kitbag://{id}/`: `summary`, or with variables (RFC 6570, level 1), each a whole segment:
   * `issues/{number}`.
   */
  uri: Uri;
  /** Media type, such as `text/markdown`. */
  mimeType?: string | undefined;
  /** Completion of the variables of `uri`. */
  variables?: { readonly [Name in VariablesOf<Uri>]?: Proposals } | undefined;
  /** Returns the document. `variables` has the decoded values of the variables of `uri`. */
  handler(variables: { readonly [Name in VariablesOf<Uri>]: string }, ctx: ToolContext): Promise<ResourceResult> | ResourceResult;
}

/** A prompt with any arguments. Not `PromptDefinition<any>`: in a list, its arguments would then be typed as `any`. */
export type AnyPrompt = Omit<PromptDefinition, "handler"> & { handler(args: never, ctx: ToolContext): Promise<PromptResult> | PromptResult };

/** A resource with any URI. */
export type AnyResource = Omit<ResourceDefinition, "handler" | "variables"> & {
  variables?: { readonly [name: string]: Proposals | undefined } | undefined;
  handler(variables: never, ctx: ToolContext): Promise<ResourceResult> | ResourceResult;
};
