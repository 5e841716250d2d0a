// Host side of a call: validates arguments and result, and makes the reply that a client would receive.
import type { Json, Manifest, ManifestTool } from "../manifest.js";
import { argumentsFailure, checkedResult, failureOf, limitsOfCalls, settingsOf, wholeLinks, type Cause } from "../rules.js";
import type { Offered, OfferEnding } from "../offers.js";
import type { DispatchFailure, DispatchSuccess } from "../reply.js";
import type { Ending as HandlerEnding } from "../run.js";
import type { ToolContent } from "../types.js";
import { redactor } from "./redaction.js";

/** Outcome of a handler, as plain data. */
export type Ending =
  | { kind: "result"; text: string; structured: string | undefined; content: ToolContent[] }
  | { kind: "offered"; offered: Offered }
  | { kind: "failed"; cause: Cause };

/** The validated input of a handler. */
export interface CheckedCall {
  args: Json;
  /** The user's settings, with defaults applied. */
  config: Record<string, Json>;
}

/** The input of a call, before validation. */
export interface CallInput {
  args: unknown;
  /** Values to redact. Further ones may be added while the handler runs. */
  redacted: Iterable<string>;
  config: Record<string, unknown>;
}

/** Calls a tool; `handle` runs its handler if the arguments are valid. */
export async function callTool(
  manifest: Manifest,
  tool: ManifestTool,
  { args: given, redacted, config: values }: CallInput,
  handle: (call: CheckedCall) => Promise<Ending>,
): Promise<DispatchSuccess | DispatchFailure> {
  // Converted to JSON and back, so that a test cannot pass values that a client could not send.
  const args = JSON.parse(JSON.stringify(given)) as Json;
  const refused = argumentsFailure(tool.inputSchema, args);
  if (refused !== undefined) return redactor(redacted)(refused);
  const { config } = settingsOf(manifest.config, values);
  const reply = replyTo(manifest, await handle({ args, config }), tool);
  return redactor(redacted)(reply);
}

/** Converts the outcome of a handler to plain data. */
export function plainEnding(ending: HandlerEnding | OfferEnding): Ending {
  switch (ending.kind) {
    case "result":
    case "offered":
      return ending;
    case "tool-error":
      return { kind: "failed", cause: { cause: "tool-error", message: String(ending.error.message), retryable: ending.error.retryable === true } };
    case "invalid-params":
      return { kind: "failed", cause: { cause: "invalid-params", message: ending.message } };
    case "failure":
      return { kind: "failed", cause: { cause: "handler" } };
  }
}

/** Warnings already printed; each is printed once, not in every call of the tool. */
const warned = new Set<string>();

function replyTo(manifest: Manifest, ending: Ending, tool: ManifestTool): DispatchSuccess | DispatchFailure {
  if (ending.kind === "failed") return failureOf(ending.cause);
  if (ending.kind !== "result") throw new TypeError("the result of a tool is expected");
  const { text, structured } = ending;
  const content = wholeLinks(manifest, ending.content);
  const textSize = utf8Length(text);
  const size = textSize + utf8Length(structured ?? "") + content.reduce((sum, it) => sum + contentSize(it), 0);
  const checked = checkedResult({ tool: tool.name, text: textSize, size, structured, output: tool.outputSchema });
  const { failure, warning, structured: declared } = checked;
  if (failure !== undefined) return failure;
  if (warning !== undefined && !warned.has(warning)) {
    warned.add(warning);
    console.warn(`warning: ${warning}`);
  }
  const reply: DispatchSuccess = { ok: true, text };
  if (content.length > 0) reply.content = content;
  if (structured !== undefined) reply.structured = JSON.parse(structured) as Json;
  if (declared !== undefined) reply.structuredContent = declared;
  return reply;
}

/** Returns a content block's contribution to the size of a result, in bytes. */
export function contentSize(block: ToolContent): number {
  return limitsOfCalls().contentOverhead + partsSize(block) + utf8Length(block.annotations?.lastModified ?? "");
}

function partsSize(block: ToolContent): number {
  switch (block.type) {
    case "resource": {
      const { resource } = block;
      const body = "blob" in resource ? dataSize(resource.blob) : utf8Length(resource.text);
      return utf8Length(resource.uri) + utf8Length(resource.mimeType ?? "") + body;
    }
    case "resource_link": {
      const { uri, name, title = "", description = "", mimeType = "" } = block;
      return [uri, name, title, description, mimeType].reduce((sum, text) => sum + utf8Length(text), 0);
    }
    default:
      return dataSize(block.data) + utf8Length(block.mimeType);
  }
}

/** Returns the number of bytes, or of decoded bytes if the data is a base64 string. */
function dataSize(data: Uint8Array | string): number {
  return typeof data === "string" ? Math.floor((data.replace(/=+$/, "").length * 3) / 4) : data.length;
}

export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
