// The component's side of the WIT contract: the function that the engine runs for each invocation.
import { makeContext } from "../context.js";
import type { ToolkitDefinition } from "../define.js";
import type { Json } from "../manifest.js";
import { run, type Ending } from "../run.js";
import { step } from "../step.js";
import type { ToolError } from "../tool-error.js";
import type { ToolkitConfig } from "../types.js";
import { contentBlock, type WitContentBlock } from "./content.js";
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

type WitResult =
  | { tag: "ok"; val: { text: string; structured: string | undefined; content: WitContentBlock[] } }
  | { tag: "err"; val: WitCallError };

type WitCallError =
  | { tag: "tool-error"; val: { message: string; retryable: boolean; data: string | undefined } }
  | { tag: "invalid-params"; val: string }
  | { tag: "failure"; val: string };

/** The function that the engine calls with the parts of an invocation; `args` and `config` are JSON. */
export type Call = (tool: string, args: string, userId: string, config: string) => WitResult | Promise<WitResult>;

/** Creates the function that the engine calls. Runs while the component is built. */
export function callable({ config: declared }: ToolkitDefinition, map: EmbeddedMap): Call {
  const toolkit = { ...declared, tools: declared.tools.map(withCompiledSchemas) };
  return (tool, args, userId, config) => call(toolkit, map, { tool, arguments: args, userId, config });
}

/** As `callable`, but the toolkit's modules run at the beginning of a call. */
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

function result(ending: Ending, map: EmbeddedMap): WitResult {
  switch (ending.kind) {
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
