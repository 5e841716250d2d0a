// Host side of a call: validates arguments and result, and makes the reply that a client would receive.
import type { Json, Manifest, ManifestTool } from "../manifest.js";
import { argumentsFailure, failureOf, settingsOf, type Cause } from "../rules.js";
import type { Offered, OfferEnding } from "../offers.js";
import type { DispatchFailure, DispatchSuccess } from "../reply.js";
import type { Ending as HandlerEnding } from "../run.js";
import type { ToolContent } from "../types.js";
import { bytesOf, utf8Length, withoutData, withUri } from "./content.js";
import { host, outline } from "./host.js";
import { redactor } from "./redaction.js";

/** Outcome of a handler, as plain data. */
export type Ending =
  | { kind: "result"; text: string; structured: string | undefined; content: ToolContent[] }
  | { kind: "offered"; offered: Offered }
  | { kind: "failed"; cause: Cause }
  /** The failure to sign in is the reply. */
  | { kind: "refused"; failure: DispatchFailure };

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
  if (ending.kind === "refused") return ending.failure;
  if (ending.kind === "failed") return failureOf(ending.cause);
  if (ending.kind !== "result") throw new TypeError("the result of a tool is expected");
  const { text, structured, content } = ending;
  const checked = host("result", {
    toolkit: outline(manifest),
    tool: tool.name,
    text: utf8Length(text),
    uncounted: content.reduce((sum, block) => sum + bytesOf(block), 0),
    structured,
    output: tool.outputSchema,
    content: content.map(withoutData),
  });
  if ("failure" in checked) return checked.failure;
  const { warning, structured: declared, uris } = checked;
  if (warning !== undefined && !warned.has(warning)) {
    warned.add(warning);
    console.warn(`warning: ${warning}`);
  }
  const reply: DispatchSuccess = { ok: true, text };
  if (content.length > 0) reply.content = content.map((block, index) => withUri(block, uris[index]));
  if (structured !== undefined) reply.structured = JSON.parse(structured) as Json;
  if (declared !== undefined) reply.structuredContent = declared;
  return reply;
}
