// The component's side of the contract: what the host calls, and what it is asked for.
import { makeContext } from "../context.js";
import type { ToolkitDefinition } from "../define.js";
import type { Json, Manifest } from "../manifest.js";
import type { Platform } from "../platform.js";
import { run, type Ending } from "../run.js";
import { step } from "../step.js";
import type { ToolError } from "../tool-error.js";
import { contents, type WitContent } from "./content.js";
import { describe, type WitToolkit } from "./definition.js";
import { sandboxPlatform, type Imports } from "./platform.js";
import { FrameMap, failureText, type EmbeddedMap } from "./stack.js";
import { warmUp } from "./warm-up.js";

export type { Imports };

/** The record `invocation`. */
export interface WitInvocation {
  tool: string;
  arguments: string;
  userId: string;
  config: string;
}

type WitResult =
  | { tag: "ok"; val: { text: string; structured: string | undefined; content: WitContent[] } }
  | { tag: "err"; val: WitCallError };

type WitCallError =
  | { tag: "tool-error"; val: { message: string; retryable: boolean; data: string | undefined } }
  | { tag: "invalid-params"; val: string }
  | { tag: "failure"; val: string };

/** The interface `tools`, which the component exports. */
export interface Tools {
  describe(): WitToolkit;
  call(invocation: WitInvocation): WitResult | Promise<WitResult>;
}

/**
 * Makes the exports of a component. Runs while the component is made: what it does before it returns is
 * in the component's memory from the start.
 */
export async function expose(
  toolkit: ToolkitDefinition,
  manifest: Manifest,
  imports: Imports,
  map: EmbeddedMap,
): Promise<Tools> {
  const frames = new FrameMap(map);
  const platform = sandboxPlatform(imports);
  const tools: Tools = {
    describe: () => describe(manifest),
    call: (invocation) => call(toolkit, platform, frames, invocation),
  };
  await warmUp(manifest, toolkit, (standIn, invocation, silent) => call(standIn, silent, frames, invocation));
  return tools;
}

function call(
  toolkit: ToolkitDefinition,
  platform: Platform,
  frames: FrameMap,
  invocation: WitInvocation,
): WitResult | Promise<WitResult> {
  const tool = toolkit.config.tools.find(({ name }) => name === invocation.tool);
  if (tool === undefined) return err({ tag: "failure", val: `the toolkit has no tool ${JSON.stringify(invocation.tool)}` });

  const config = JSON.parse(invocation.config) as Record<string, Json>;
  const ctx = makeContext(toolkit.config, { userId: invocation.userId, config }, platform);
  return step(
    () => run(tool, JSON.parse(invocation.arguments), ctx),
    (ending) => result(ending, frames),
    (thrown) => err({ tag: "failure", val: failureText(thrown, frames) }),
  );
}

function result(ending: Ending, frames: FrameMap): WitResult {
  switch (ending.kind) {
    case "result":
      return { tag: "ok", val: { text: ending.text, structured: ending.structured, content: contents(ending.content) } };
    case "tool-error":
      return err({ tag: "tool-error", val: toolError(ending.error) });
    case "invalid-params":
      return err({ tag: "invalid-params", val: ending.message });
    case "failure":
      return err({ tag: "failure", val: failureText(ending.thrown, frames) });
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
    // Data that JSON cannot hold is left out; the error itself matters more.
  }
  return { message: String(error.message), retryable: error.retryable === true, data };
}
