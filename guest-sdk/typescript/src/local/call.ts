// What is done around a handler, as the host does it: arguments and result are checked, and what comes back is
// what a client would receive.
import type { Json, Manifest, ManifestTool } from "../manifest.js";
import { argumentsFailure, checkedResult, failureOf, limitsOfCalls, settingsOf, type Cause } from "../rules.js";
import type { Ending as HandlerEnding } from "../run.js";
import type { ToolContent } from "../types.js";
import type { DispatchFailure, DispatchSuccess } from "./dispatch.js";
import { redactor } from "./redaction.js";

/** How a call's handler ended, as plain data. */
export type Ending =
  | { kind: "result"; text: string; structured: string | undefined; content: ToolContent[] }
  | { kind: "failed"; cause: Cause };

/** What a handler is called with. */
export interface CheckedCall {
  args: Json;
  /** The user's settings over the defaults. */
  config: Record<string, Json>;
}

/** What a call brings. */
export interface Asked {
  args: unknown;
  secrets: Record<string, string>;
  config: Record<string, unknown>;
}

/** Calls a tool; `handle` runs its handler, where the arguments fit. */
export async function callTool(
  manifest: Manifest,
  tool: ManifestTool,
  { args: given, secrets, config: values }: Asked,
  handle: (call: CheckedCall) => Promise<Ending>,
): Promise<DispatchSuccess | DispatchFailure> {
  // Arguments travel as JSON: what a client cannot send, a test does not either.
  const args = JSON.parse(JSON.stringify(given)) as Json;
  const redact = redactor(Object.values(secrets));
  const refused = argumentsFailure(tool.inputSchema, args);
  if (refused !== undefined) return redact(refused);
  const { config } = settingsOf(manifest.config, values);
  return redact(replyTo(await handle({ args, config }), tool.outputSchema));
}

/** Brings the end of a handler that ran here into plain data. */
export function plainEnding(ending: HandlerEnding): Ending {
  switch (ending.kind) {
    case "result":
      return ending;
    case "tool-error":
      return { kind: "failed", cause: { cause: "tool-error", message: String(ending.error.message), retryable: ending.error.retryable === true } };
    case "invalid-params":
      return { kind: "failed", cause: { cause: "invalid-params", message: ending.message } };
    case "failure":
      return { kind: "failed", cause: { cause: "handler" } };
  }
}

function replyTo(ending: Ending, output: Json | undefined): DispatchSuccess | DispatchFailure {
  if (ending.kind === "failed") return failureOf(ending.cause);
  const { text, structured, content } = ending;
  const size = bytes(text) + bytes(structured ?? "") + content.reduce((sum, it) => sum + contentSize(it), 0);
  const { failure, structured: declared } = checkedResult(size, structured, output);
  if (failure !== undefined) return failure;
  const reply: DispatchSuccess = { ok: true, text };
  if (content.length > 0) reply.content = content;
  if (structured !== undefined) reply.structured = JSON.parse(structured) as Json;
  if (declared !== undefined) reply.structuredContent = declared;
  return reply;
}

function contentSize(content: ToolContent): number {
  const { contentOverhead } = limitsOfCalls();
  switch (content.type) {
    case "resource": {
      const { resource } = content;
      const body = "blob" in resource ? dataSize(resource.blob) : bytes(resource.text);
      return contentOverhead + bytes(resource.uri) + bytes(resource.mimeType ?? "") + body;
    }
    case "resource_link": {
      const { uri, name, title = "", description = "", mimeType = "" } = content;
      return contentOverhead + [uri, name, title, description, mimeType].reduce((sum, text) => sum + bytes(text), 0);
    }
    default:
      return contentOverhead + dataSize(content.data) + bytes(content.mimeType);
  }
}

/** Of bytes, or of the bytes that a text in base64 stands for. */
function dataSize(data: Uint8Array | string): number {
  return typeof data === "string" ? Math.floor((data.replace(/=+$/, "").length * 3) / 4) : data.length;
}

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
