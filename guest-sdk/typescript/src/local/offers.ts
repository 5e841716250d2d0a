// In-process calls of prompts, resources and completions, as by the host.
import type { ToolkitDefinition } from "../define.js";
import type { Manifest } from "../manifest.js";
import type { Offered, OfferTarget } from "../offers.js";
import type { DispatchFailure } from "../reply.js";
import { failureOf, settingsOf } from "../rules.js";
import type { ToolContent } from "../types.js";
import type { CheckedCall, Ending } from "./call.js";
import { bytesOf, dataSize, utf8Length, withoutData, withUri } from "./content.js";
import { runTarget } from "./dispatch.js";
import { withHandlerGlobals } from "./handler-globals.js";
import { host, outline } from "./host.js";
import { redactor } from "./redaction.js";
import { newTrace, redactTrace, redactedValues } from "./trace.js";
import type { Trace } from "./trace.js";
import { checkWorld, type TestWorld } from "./world.js";

/** A message as a client receives it. */
export interface ReceivedMessage {
  role: "user" | "assistant";
  content: { type: "text"; text: string } | ToolContent;
}

/** The contents of a resource as a client receives them, except that bytes are not encoded. */
export type ReceivedContents = { uri: string; mimeType?: string | undefined } & ({ text: string } | { blob: Uint8Array | string });

/** Reply for the client, or the error envelope; with `trace` (not enumerable), as in `dispatch`. */
export type OfferResult<Success> = (({ ok: true } & Success) | DispatchFailure) & { readonly trace: Trace };

/** Gets a prompt by its name, with or without the prefix `{toolkitId}__`. */
export async function getPrompt(server: ToolkitDefinition, call: TestWorld & { prompt: string; arguments?: Record<string, string> | undefined }): Promise<OfferResult<{ messages: ReceivedMessage[] }>> {
  return offer(server, { kind: "prompt", name: call.prompt }, call.arguments ?? {}, call) as Promise<OfferResult<{ messages: ReceivedMessage[] }>>;
}

/** Reads a resource by its URI: `kitbag://{toolkitId}/…`, or the rest of it, as in a link. */
export async function readResource(server: ToolkitDefinition, call: TestWorld & { uri: string }): Promise<OfferResult<{ contents: ReceivedContents }>> {
  return offer(server, { kind: "resource", name: call.uri }, {}, call) as Promise<OfferResult<{ contents: ReceivedContents }>>;
}

/** Completion request for an argument of a prompt, or for a variable of a resource. */
export type CompleteCall = TestWorld & { argument: string; value?: string | undefined; others?: Record<string, string> | undefined } & ({ prompt: string; resource?: never } | { resource: string; prompt?: never });

/** Returns the completion values for an argument or a variable. */
export async function complete(server: ToolkitDefinition, call: CompleteCall): Promise<OfferResult<{ values: string[] }>> {
  const { argument, value = "", others = {} } = call;
  const target: OfferTarget =
    call.prompt !== undefined ? { kind: "prompt-completion", name: call.prompt, argument, value } : { kind: "resource-completion", name: call.resource, argument, value };
  return offer(server, target, others, call) as Promise<OfferResult<{ values: string[] }>>;
}

/** Calls a prompt, a resource or a completion in this process. */
export async function offer(server: ToolkitDefinition, target: OfferTarget, args: Record<string, string>, world: TestWorld): Promise<object> {
  checkWorld(server.manifest, world);
  const trace = newTrace();
  const redacted = redactedValues(world, trace);
  const reply = await callOffer(server.manifest, target, { args, redacted, config: world.config ?? {} }, (found, checked) =>
    withHandlerGlobals(() => runTarget(server, found, checked, world, trace)),
  );
  redactTrace(trace, redacted);
  return Object.defineProperty(reply, "trace", { value: trace });
}

/**
 * Calls a prompt, a resource or a completion; `handle` runs its handler. Throws if the prompt or the completion does not
 * exist.
 */
export async function callOffer(
  manifest: Manifest,
  target: OfferTarget,
  { args, redacted, config: values }: { args: Record<string, unknown>; redacted: Iterable<string>; config: Record<string, unknown> },
  handle: (target: OfferTarget, call: CheckedCall) => Promise<Ending>,
): Promise<object> {
  const found = host("offer", { toolkit: outline(manifest), target, arguments: args });
  if ("mistake" in found) throw new Error(found.mistake);
  if ("failure" in found) return redactor(redacted)(found.failure);
  if ("values" in found) return redactor(redacted)({ ok: true, values: found.values });
  const { config } = settingsOf(manifest.config, values);
  const ending = await handle({ ...target, name: found.name }, { args: found.arguments, config });
  return redactor(redacted)(replyTo(manifest, found, ending));
}

function replyTo(manifest: Manifest, { name, uri }: { name: string; uri: string | null }, ending: Ending): object {
  if (ending.kind === "refused") return ending.failure;
  if (ending.kind === "failed") return failureOf(ending.cause);
  if (ending.kind !== "offered") throw new TypeError("a tool's result is not expected");
  const { offered } = ending;
  const checked = host("offered", { toolkit: outline(manifest), name, ...withoutBytes(offered) });
  if ("failure" in checked) return checked.failure;
  if ("values" in offered) return { ok: true, values: offered.values };
  if ("contents" in offered) {
    const { mimeType: _, ...body } = offered.contents;
    return { ok: true, contents: { uri, ...(checked.mimeType != null && { mimeType: checked.mimeType }), ...body } };
  }
  const messages = offered.messages.map(({ role, content }, index) => ({
    role,
    content: "type" in content ? withUri(content, checked.uris?.[index]) : { type: "text", text: content.text },
  }));
  return { ok: true, messages };
}

/** Returns a result without texts and data, and their size in bytes. */
function withoutBytes(offered: Offered): { offered: object; uncounted: number } {
  if ("values" in offered) return { offered, uncounted: 0 };
  if ("contents" in offered) {
    const { contents } = offered;
    const uncounted = "text" in contents ? utf8Length(contents.text) : dataSize(contents.blob);
    return { offered: { contents: { mimeType: contents.mimeType } }, uncounted };
  }
  const messages = offered.messages.map(({ role, content }) => ({ role, content: "type" in content ? withoutData(content) : { type: "text" } }));
  const sizes = offered.messages.map(({ content }) => ("type" in content ? bytesOf(content) : utf8Length(content.text)));
  return { offered: { messages }, uncounted: sizes.reduce((sum, size) => sum + size, 0) };
}
