// MCP methods for prompts, resources and completion.
import type { Manifest } from "../manifest.js";
import type { DispatchFailure } from "../reply.js";
import { base64, encoded, RpcError, type Caller } from "./rpc.js";
import { host, outline } from "./host.js";
import type { OfferResult, ReceivedContents, ReceivedMessage } from "./offers.js";

type Params = { [key: string]: unknown };

/** Answers a method for prompts, resources or completion; `undefined` for any other method. */
export async function answerOffer(manifest: Manifest, caller: Caller, method: string, params: Params): Promise<{ isListing: boolean; result: object } | undefined> {
  const { id, prompts = [], resources = [] } = manifest;
  const uri = (path: string) => `kitbag://${id}/${path}`;
  const isTemplate = (path: string) => path.includes("{");
  const about = ({ name, title, description }: { name: string; title?: string; description: string }) => ({ name: `${id}__${name}`, ...(title !== undefined && { title }), description });
  switch (method) {
    case "prompts/list": {
      const listed = prompts.map((prompt) => ({
        ...about(prompt),
        ...(prompt.arguments !== undefined && { arguments: prompt.arguments.map(({ values: _, completes: __, ...argument }) => argument) }),
      }));
      return { isListing: true, result: { prompts: listed } };
    }
    case "resources/list": {
      const fixed = resources.filter((it) => !isTemplate(it.uri));
      return { isListing: true, result: { resources: fixed.map((it) => ({ uri: uri(it.uri), ...about(it), ...(it.mediaType !== undefined && { mimeType: it.mediaType }) })) } };
    }
    case "resources/templates/list": {
      const templates = resources.filter((it) => isTemplate(it.uri));
      return { isListing: true, result: { resourceTemplates: templates.map((it) => ({ uriTemplate: uri(it.uri), ...about(it), ...(it.mediaType !== undefined && { mimeType: it.mediaType }) })) } };
    }
    case "prompts/get":
      return { isListing: false, result: await prompt(manifest, caller, params) };
    case "resources/read":
      return { isListing: false, result: await read(manifest, caller, params) };
    case "completion/complete":
      return { isListing: false, result: { completion: await complete(manifest, caller, params) } };
    default:
      return undefined;
  }
}

async function prompt({ id, prompts = [] }: Manifest, caller: Caller, params: Params): Promise<object> {
  const found = prompts.find(({ name }) => params.name === `${id}__${name}`);
  if (found === undefined) throw new RpcError(-32602, `unknown prompt: ${String(params.name)}`);
  const reply = succeeded<{ messages: ReceivedMessage[] }>(await caller({ kind: "prompt", name: found.name }, textsOf(params.arguments)));
  return { messages: reply.messages.map(({ role, content }) => ({ role, content: content.type === "text" ? content : encoded(content) })) };
}

async function read(manifest: Manifest, caller: Caller, { uri }: Params): Promise<object> {
  const prefix = `kitbag://${manifest.id}/`;
  const path = String(uri).startsWith(prefix) ? String(uri).slice(prefix.length) : undefined;
  const found = path !== undefined && host("offer", { toolkit: outline(manifest), target: { kind: "resource", name: path }, arguments: {} });
  if (path === undefined || found === false || "failure" in found) throw new RpcError(-32002, "unknown resource");
  const { contents } = succeeded<{ contents: ReceivedContents }>(await caller({ kind: "resource", name: path }, {}));
  const shown = "blob" in contents ? { ...contents, blob: base64(contents.blob) } : contents;
  return { contents: [{ mimeType: "text" in contents ? "text/plain" : undefined, ...shown }] };
}

async function complete({ id, prompts = [], resources = [] }: Manifest, caller: Caller, params: Params): Promise<object> {
  const { type, name, uri } = (params.ref ?? {}) as Params;
  const { name: argument, value } = (params.argument ?? {}) as Params;
  const ofPrompt = prompts.find((it) => type === "ref/prompt" && name === `${id}__${it.name}`);
  const found = ofPrompt ?? resources.find((it) => type === "ref/resource" && uri === `kitbag://${id}/${it.uri}`);
  if (found === undefined || typeof argument !== "string" || typeof value !== "string") throw new RpcError(-32602, "there is no such prompt or resource to complete");
  const kind = ofPrompt === undefined ? "resource-completion" : "prompt-completion";
  const others = textsOf(((params.context ?? {}) as Params).arguments);
  const { values } = succeeded<{ values: string[] }>(await caller({ kind, name: found.name, argument, value }, others));
  return { values: values.slice(0, 100), total: values.length, hasMore: values.length > 100 };
}

function textsOf(given: unknown): Record<string, string> {
  return (typeof given === "object" && given !== null ? given : {}) as Record<string, string>;
}

function succeeded<Success>(reply: object): Success {
  const result = reply as OfferResult<Success> | DispatchFailure;
  if (!result.ok) throw new RpcError(result.code === "INVALID_PARAMS" ? -32602 : -32603, result.error);
  return result as Success;
}
