// The types of prompts and resources.
import type { ToolContent, ToolContext } from "./types.js";

/**
 * Proposes values while a user types: `typed` is the text so far, `others` has what is known of the other arguments. Clients
 * get the first hundred.
 */
export type Completer = (typed: string, ctx: ToolContext, others: Readonly<Record<string, string>>) => Promise<readonly string[]> | readonly string[];

/** What is proposed for an argument of a prompt, or for a variable of a resource: a list, or a function's answer. */
export interface Proposals {
  /** Those that begin with what was typed are proposed. At most 100. */
  values?: readonly string[] | undefined;
  /** Proposes values; not together with `values`. */
  complete?: Completer | undefined;
}

/** One argument of a prompt. Arguments are texts. */
export interface PromptArgument extends Proposals {
  /** Display name. */
  title?: string | undefined;
  /** Tells the user what to fill in. */
  description?: string | undefined;
  /** The user must fill it in. By default false. */
  required?: boolean | undefined;
}

/** The arguments of a prompt by name, in the order in which clients ask for them. */
export type PromptArguments = { readonly [name: string]: PromptArgument };

/** The values of a prompt's arguments: one that is not required may be absent. */
export type PromptValues<Arguments extends PromptArguments> = {
  readonly [Name in keyof Arguments]: Arguments[Name] extends { required: true } ? string : string | undefined;
};

/** One message of a prompt. */
export interface PromptMessage {
  role: "user" | "assistant";
  /** A text, or a content block as in the result of a tool. A link to `issues/7` leads to the toolkit's own resource. */
  content: string | { type: "text"; text: string } | ToolContent;
}

/** What the handler of a prompt returns: messages, or a string, which stands for one message of the user. */
export type PromptResult = string | { messages: readonly PromptMessage[] };

/** One prompt of a toolkit: messages that a user picks in their client. */
export interface PromptDefinition<Arguments extends PromptArguments = PromptArguments> {
  /** Matches `[a-zA-Z0-9_-]+`, unique among the toolkit's prompts. Listed as `{id}__{name}`. */
  name: string;
  /** Display name. */
  title?: string | undefined;
  /** Tells the user what the prompt is for. */
  description: string;
  /** What the user is asked for. */
  arguments?: (Arguments & PromptArguments) | undefined;
  /** Makes the messages. Errors are as those of a tool's handler. */
  handler(args: PromptValues<Arguments>, ctx: ToolContext): Promise<PromptResult> | PromptResult;
}

/** The names of the variables of a URI such as `issues/{number}`. */
export type VariablesOf<Uri extends string> = Uri extends `${string}{${infer Name}}${infer Rest}` ? Name | VariablesOf<Rest> : never;

/** What the handler of a resource returns: a text, or one with a media type in place of the declared one, or bytes (raw or in base64). */
export type ResourceResult =
  | string
  | { text: string; mimeType?: string | undefined; blob?: never }
  | { blob: Uint8Array | string; mimeType?: string | undefined; text?: never };

/** One resource of a toolkit, or many of a kind: documents that a client reads by their URIs. */
export interface ResourceDefinition<Uri extends string = string> {
  /** Matches `[a-zA-Z0-9_-]+`, unique among the toolkit's resources. */
  name: string;
  /** Display name. */
  title?: string | undefined;
  /** Tells users and models what it has. */
  description: string;
  /**
   * Relative to `kitbag://{id}/`: `summary`, or with variables (RFC 6570, level 1), each a whole segment:
   * `issues/{number}`.
   */
  uri: Uri;
  /** Media type, such as `text/markdown`. */
  mimeType?: string | undefined;
  /** What is proposed for variables of `uri`. */
  variables?: { readonly [Name in VariablesOf<Uri>]?: Proposals } | undefined;
  /** Reads one. `variables` has the decoded values of the variables of `uri`. */
  handler(variables: { readonly [Name in VariablesOf<Uri>]: string }, ctx: ToolContext): Promise<ResourceResult> | ResourceResult;
}

/** A prompt with any arguments. Not `PromptDefinition<any>`: in a list, its arguments would then be typed as `any`. */
export type AnyPrompt = Omit<PromptDefinition, "handler"> & { handler(args: never, ctx: ToolContext): Promise<PromptResult> | PromptResult };

/** A resource with any URI. */
export type AnyResource = Omit<ResourceDefinition, "handler" | "variables"> & {
  variables?: { readonly [name: string]: Proposals | undefined } | undefined;
  handler(variables: never, ctx: ToolContext): Promise<ResourceResult> | ResourceResult;
};
