// Runs the handlers of prompts, resources and completions.
import { checkContent, isObject, refuseUnknown } from "./result-check.js";
import { step } from "./step.js";
import { ToolError, toolErrorWithin } from "./tool-error.js";
import type { Completer, PromptMessage, Proposals, ToolContent, ToolContext, ToolkitConfig } from "./types.js";

/** Target of a call other than a tool: a prompt, a resource or a completion. */
export interface OfferTarget {
  kind: "prompt" | "resource" | "prompt-completion" | "resource-completion";
  /** Name of the prompt or the resource. */
  name: string;
  /** Name of the argument or variable to complete; completions only. */
  argument?: string | undefined;
  /** Text typed so far; completions only. */
  value?: string | undefined;
}

/** Validated result of a prompt, a resource or a completion. */
export type Offered =
  | { messages: { role: "user" | "assistant"; content: { text: string } | ToolContent }[] }
  | { contents: ({ text: string } | { blob: Uint8Array | string }) & { mimeType?: string | undefined } }
  | { values: string[] };

/** Outcome of a handler. */
export type OfferEnding =
  | { kind: "offered"; offered: Offered }
  | { kind: "tool-error"; error: ToolError }
  | { kind: "failure"; thrown: unknown };

/** Runs a handler with arguments or variables that fit the declaration. Neither throws nor rejects. */
export function runOffer(toolkit: ToolkitConfig, target: OfferTarget, args: Record<string, string>, ctx: ToolContext): OfferEnding | Promise<OfferEnding> {
  return step<unknown, OfferEnding>(
    () => start(toolkit, target, args, ctx),
    (returned) => ({ kind: "offered", offered: checked(target.kind, returned) }),
    (thrown) => {
      const error = toolErrorWithin(thrown);
      return error === undefined ? { kind: "failure", thrown } : { kind: "tool-error", error };
    },
  );
}

function start(toolkit: ToolkitConfig, target: OfferTarget, args: Record<string, string>, ctx: ToolContext): unknown {
  const named = ({ name }: { name: string }) => name === target.name;
  const ofPrompt = target.kind.startsWith("prompt");
  const found = ofPrompt ? toolkit.prompts?.find(named) : toolkit.resources?.find(named);
  if (found === undefined) throw new Error(`the toolkit has no ${ofPrompt ? "prompt" : "resource"} ${JSON.stringify(target.name)}`);
  // Called as methods of the definition, so that handlers have their `this`.
  if (target.kind === "prompt" || target.kind === "resource") return found.handler(args as never, ctx);
  const parts = ("arguments" in found ? found.arguments : "variables" in found ? found.variables : undefined) as { [name: string]: Proposals } | undefined;
  const completer: Completer | undefined = parts?.[target.argument ?? ""]?.complete;
  if (completer === undefined) throw new Error(`${JSON.stringify(target.name)} does not complete ${JSON.stringify(target.argument)}`);
  return completer(target.value ?? "", ctx, args);
}

function checked(kind: OfferTarget["kind"], returned: unknown): Offered {
  switch (kind) {
    case "prompt":
      return { messages: messagesOf(returned) };
    case "resource":
      return { contents: contentsOf(returned) };
    default:
      if (!Array.isArray(returned) || returned.some((value) => typeof value !== "string")) throw new TypeError("complete must return a list of strings");
      return { values: returned as string[] };
  }
}

function messagesOf(returned: unknown): { role: "user" | "assistant"; content: { text: string } | ToolContent }[] {
  if (typeof returned === "string") return [{ role: "user", content: { text: returned } }];
  if (!isObject(returned) || !Array.isArray(returned.messages)) throw new TypeError("the handler of a prompt must return a string or { messages }");
  refuseUnknown(returned, ["messages"], "the handler's result");
  return (returned.messages as unknown[]).map((message, index) => {
    const path = `messages[${index}]`;
    if (!isObject(message) || (message.role !== "user" && message.role !== "assistant")) throw new TypeError(`${path}.role must be "user" or "assistant"`);
    refuseUnknown(message, ["role", "content"], path);
    return { role: message.role, content: messageContent(message.content as PromptMessage["content"], `${path}.content`) };
  });
}

function messageContent(content: PromptMessage["content"], path: string): { text: string } | ToolContent {
  if (typeof content === "string") return { text: content };
  if (isObject(content) && content.type === "text") {
    refuseUnknown(content, ["type", "text"], path);
    if (typeof content.text !== "string") throw new TypeError(`${path}.text must be a string`);
    return { text: content.text };
  }
  checkContent(content, path);
  return content as ToolContent;
}

function contentsOf(returned: unknown): ({ text: string } | { blob: Uint8Array | string }) & { mimeType?: string | undefined } {
  if (typeof returned === "string") return { text: returned };
  if (!isObject(returned)) throw new TypeError("the handler of a resource must return a string, { text } or { blob }");
  refuseUnknown(returned, ["text", "blob", "mimeType"], "the handler's result");
  const { text, blob, mimeType } = returned;
  if (mimeType !== undefined && typeof mimeType !== "string") throw new TypeError("mimeType must be a string");
  if (typeof text === "string" && blob === undefined) return { text, mimeType };
  // Checked like the content of a tool's result.
  checkContent({ type: "image", data: blob, mimeType: "" }, "the handler's result");
  return { blob: blob as Uint8Array | string, mimeType };
}
