// The component's side of the WIT contract: the function that the engine runs for each invocation.
import { makeContext } from "../context.js";
import type { ToolkitDefinition } from "../define.js";
import type { Json } from "../manifest.js";
import { runOffer, type Offered, type OfferEnding, type OfferTarget } from "../offers.js";
import { run, type Ending } from "../run.js";
import { step } from "../step.js";
import type { ToolError } from "../tool-error.js";
import type { ToolkitConfig } from "../types.js";
import { contentBlock, contentsValue, type WitContentBlock } from "./content.js";
import { sandboxPlatform } from "./platform.js";
import { withCompiledSchemas } from "./schemas.js";
import { FrameMap, failureText, mapStacks, type EmbeddedMap } from "./stack.js";

/** The WIT record `invocation`. */
interface WitInvocation {
  tool: string;
  arguments: string;
  userId: string;
  config: string;
}

/** The results of `tools.call`, `prompts.get`, `resources.read` and `completion.complete`. */
type WitValue =
  | { text: string; structured: string | undefined; content: WitContentBlock[] }
  | { messages: { role: "user" | "assistant"; text: string | undefined; block: WitContentBlock | undefined }[] }
  | { mediaType: string | undefined; body: { tag: "text"; val: string } | { tag: "blob"; val: Uint8Array } }
  | { values: string[] };

type WitResult =
  | { tag: "ok"; val: WitValue }
  | { tag: "err"; val: WitCallError };

type WitCallError =
  | { tag: "tool-error"; val: { message: string; retryable: boolean; data: string | undefined } }
  | { tag: "invalid-params"; val: string }
  | { tag: "failure"; val: string };

/**
 * Function that the engine calls with the parts of an invocation. `args` and `config` are JSON; `argument` and `value` are
 * set for completions only.
 */
export type Call = (
  kind: "tool" | OfferTarget["kind"],
  name: string,
  args: string,
  userId: string,
  config: string,
  argument?: string,
  value?: string,
) => WitResult | Promise<WitResult>;

/** Creates the function that the engine calls. Runs while the component is built. */
export function callable({ config: declared }: ToolkitDefinition, map: EmbeddedMap): Call {
  const toolkit = { ...declared, tools: declared.tools.map(withCompiledSchemas) };
  return (kind, name, args, userId, config, argument, value) => {
    const invocation = { arguments: args, userId, config };
    return kind === "tool" ? call(toolkit, map, { tool: name, ...invocation }) : offer(toolkit, map, { kind, name, argument, value }, invocation);
  };
}

/** Like `callable`, but the toolkit's modules run at the beginning of a call. */
export function callableLater(load: () => Promise<{ default: ToolkitDefinition }>, map: EmbeddedMap): Call {
  let loading: Promise<Call> | undefined;
  return (...invocation) => {
    mapStacks(map);
    loading ??= load().then(({ default: toolkit }) => callable(toolkit, map));
    return loading.then(
      (ready) => ready(...invocation),
      (thrown) => err({ tag: "failure", val: failureText(thrown, new FrameMap(map)) }),
    );
  };
}

function call(toolkit: ToolkitConfig, map: EmbeddedMap, invocation: WitInvocation): WitResult | Promise<WitResult> {
  mapStacks(map);
  const tool = toolkit.tools.find(({ name }) => name === invocation.tool);
  if (tool === undefined) return err({ tag: "failure", val: `the toolkit has no tool ${JSON.stringify(invocation.tool)}` });

  const config = JSON.parse(invocation.config) as Record<string, Json>;
  const ctx = makeContext(toolkit, { userId: invocation.userId, config }, sandboxPlatform);
  return step(
    () => run(tool, JSON.parse(invocation.arguments), ctx),
    (ending) => result(ending, map),
    (thrown) => err({ tag: "failure", val: failureText(thrown, new FrameMap(map)) }),
  );
}

function offer(toolkit: ToolkitConfig, map: EmbeddedMap, target: OfferTarget, invocation: Omit<WitInvocation, "tool">): WitResult | Promise<WitResult> {
  mapStacks(map);
  const config = JSON.parse(invocation.config) as Record<string, Json>;
  const ctx = makeContext(toolkit, { userId: invocation.userId, config }, sandboxPlatform);
  return step(
    () => runOffer(toolkit, target, JSON.parse(invocation.arguments) as Record<string, string>, ctx),
    (ending) => result(ending, map),
    (thrown) => err({ tag: "failure", val: failureText(thrown, new FrameMap(map)) }),
  );
}

function result(ending: Ending | OfferEnding, map: EmbeddedMap): WitResult {
  switch (ending.kind) {
    case "offered":
      return { tag: "ok", val: offeredValue(ending.offered) };
    case "result":
      return { tag: "ok", val: { text: ending.text, structured: ending.structured, content: ending.content.map(contentBlock) } };
    case "tool-error":
      return err({ tag: "tool-error", val: toolError(ending.error) });
    case "invalid-params":
      return err({ tag: "invalid-params", val: ending.message });
    case "failure":
      return err({ tag: "failure", val: failureText(ending.thrown, new FrameMap(map)) });
  }
}

function offeredValue(offered: Offered): WitValue {
  if ("values" in offered) return offered;
  if ("contents" in offered) return contentsValue(offered.contents);
  const messages = offered.messages.map(({ role, content }) =>
    "type" in content ? { role, text: undefined, block: contentBlock(content) } : { role, text: content.text, block: undefined },
  );
  return { messages };
}

function err(val: WitCallError): WitResult {
  return { tag: "err", val };
}

function toolError(error: ToolError): { message: string; retryable: boolean; data: string | undefined } {
  let data: string | undefined;
  try {
    data = JSON.stringify(error.data);
  } catch {
    // Data that cannot be converted to JSON is dropped, so that the error itself is still reported.
  }
  return { message: String(error.message), retryable: error.retryable === true, data };
}
