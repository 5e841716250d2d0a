// In-process calls of prompts, resources and completions, as by the host.
import type { ToolkitDefinition } from "../define.js";
import type { Manifest } from "../manifest.js";
import type { Offered, OfferTarget } from "../offers.js";
import type { DispatchFailure } from "../reply.js";
import { failureOf, foundResource, promptFailure, settingsOf, wholeLinks } from "../rules.js";
import type { ToolContent } from "../types.js";
import { contentSize, utf8Length, type CheckedCall, type Ending } from "./call.js";
import { runTarget } from "./dispatch.js";
import { withHandlerGlobals } from "./handler-globals.js";
import { redactor } from "./redaction.js";
import { limitsOfCalls } from "../rules.js";
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
  const { id } = server.manifest;
  const name = call.prompt.startsWith(`${id}__`) ? call.prompt.slice(id.length + 2) : call.prompt;
  return offer(server, { kind: "prompt", name }, call.arguments ?? {}, call) as Promise<OfferResult<{ messages: ReceivedMessage[] }>>;
}

/** Reads a resource by its URI: `kitbag://{toolkitId}/…`, or the rest of it, as in a link. */
export async function readResource(server: ToolkitDefinition, call: TestWorld & { uri: string }): Promise<OfferResult<{ contents: ReceivedContents }>> {
  const prefix = `kitbag://${server.manifest.id}/`;
  const path = call.uri.startsWith(prefix) ? call.uri.slice(prefix.length) : call.uri;
  return offer(server, { kind: "resource", name: path }, {}, call) as Promise<OfferResult<{ contents: ReceivedContents }>>;
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
  const trace: Trace = { log: [], progress: [], requests: [], ingested: [], questions: [], attached: [] };
  const { secrets = {}, config = {} } = world;
  const redacted = {
    *[Symbol.iterator]() {
      yield* Object.values(secrets);
      yield* trace.attached;
    },
  };
  const reply = await callOffer(server.manifest, target, { args, redacted, config }, (found, checked) =>
    withHandlerGlobals(() => runTarget(server, found, checked, world, trace)),
  );
  trace.log = redactor(redacted)(trace.log);
  return Object.defineProperty(reply, "trace", { value: trace });
}

/**
 * Calls a prompt, a resource or a completion; `handle` runs its handler. A resource is named by its path. Throws if the
 * prompt or the completion does not exist.
 */
export async function callOffer(
  manifest: Manifest,
  target: OfferTarget,
  { args, redacted, config: values }: { args: Record<string, unknown>; redacted: Iterable<string>; config: Record<string, unknown> },
  handle: (target: OfferTarget, call: CheckedCall) => Promise<Ending>,
): Promise<object> {
  const found = prepared(manifest, target, JSON.parse(JSON.stringify(args)) as Record<string, string>);
  if ("reply" in found) return redactor(redacted)(found.reply);
  const { config } = settingsOf(manifest.config, values);
  const ending = await handle(found.target, { args: found.args, config });
  return redactor(redacted)(replyTo(manifest, found.target, target.name, ending));
}

type Prepared = { target: OfferTarget; args: Record<string, string> } | { reply: object };

/** Returns the handler's target and arguments, or the reply of a call that needs no handler. */
function prepared(manifest: Manifest, target: OfferTarget, args: Record<string, string>): Prepared {
  const { prompts = [], resources = [] } = manifest;
  if (target.kind === "resource") {
    const found = foundResource(resources, target.name);
    if (found === undefined) return { reply: failureOf({ cause: "invalid-params", message: `unknown resource ${JSON.stringify(target.name)}` }) };
    return { target: { kind: "resource", name: resources[found.index]!.name }, args: found.variables };
  }
  const ofPrompt = target.kind !== "resource-completion";
  const declared = ofPrompt ? prompts.find(({ name }) => name === target.name) : resources.find(({ name }) => name === target.name);
  if (declared === undefined) throw new Error(`${JSON.stringify(manifest.id)} has no ${ofPrompt ? "prompt" : "resource"} ${JSON.stringify(target.name)}`);
  if (target.kind === "prompt") {
    const refused = promptFailure(declared as never, args);
    return refused === undefined ? { target, args } : { reply: refused };
  }
  const parts = "uri" in declared ? declared.variables : declared.arguments;
  const part = parts?.find(({ name }) => name === target.argument);
  if (part?.completes === true) return { target, args };
  const typed = (target.value ?? "").toLowerCase();
  return { reply: { ok: true, values: (part?.values ?? []).filter((value) => value.toLowerCase().startsWith(typed)) } };
}

function replyTo(manifest: Manifest, target: OfferTarget, path: string, ending: Ending): object {
  if (ending.kind === "failed") return failureOf(ending.cause);
  if (ending.kind !== "offered") throw new TypeError("a tool's result is not expected");
  const { offered } = ending;
  if (sizeOf(offered) > limitsOfCalls().resultSize) return failureOf({ cause: "result-too-large" });
  if ("values" in offered) return { ok: true, values: offered.values };
  if ("contents" in offered) {
    const declared = manifest.resources?.find(({ name }) => name === target.name)?.mediaType;
    const { mimeType = declared, ...body } = offered.contents;
    return { ok: true, contents: { uri: `kitbag://${manifest.id}/${path}`, ...(mimeType !== undefined && { mimeType }), ...body } };
  }
  const messages = offered.messages.map(({ role, content }) => ({ role, content: "type" in content ? wholeLinks(manifest, [content])[0]! : { type: "text", text: content.text } }));
  return { ok: true, messages };
}

function sizeOf(offered: Offered): number {
  const { contentOverhead } = limitsOfCalls();
  if ("values" in offered) return offered.values.reduce((sum, value) => sum + utf8Length(value), 0);
  if ("messages" in offered) {
    return offered.messages.reduce((sum, { content }) => sum + ("type" in content ? contentSize(content) : contentOverhead + utf8Length(content.text)), 0);
  }
  const { contents } = offered;
  return "text" in contents ? utf8Length(contents.text) : typeof contents.blob === "string" ? Math.floor((contents.blob.length * 3) / 4) : contents.blob.length;
}
