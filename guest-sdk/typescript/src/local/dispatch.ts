import type { ToolkitDefinition } from "../define.js";
import { makeContext } from "../context.js";
import { run } from "../run.js";
import type { ToolContent } from "../types.js";
import { callTool, plainEnding, type CheckedCall, type Ending } from "./call.js";
import { redactor } from "./redaction.js";
import { checkWorld, testPlatform, type TestWorld, type Trace } from "./world.js";

export type { TestWorld, Trace };

/** One call of one tool in a test, and what it finds around it. */
export interface DispatchCall extends TestWorld {
  /** The tool, with or without the toolkit's prefix. */
  tool?: string | undefined;
  /** The same, as MCP's `tools/call` spells it. */
  name?: string | undefined;
  /** Its arguments; by default none. */
  arguments?: Record<string, unknown> | undefined;
  /** The same. */
  args?: Record<string, unknown> | undefined;
}

/** What a client would receive. `trace` is what the call left behind; it is not enumerable. */
export type DispatchResult = (DispatchSuccess | DispatchFailure) & { readonly trace: Trace };

/** The handler's result. */
export interface DispatchSuccess {
  ok: true;
  /** What the model reads. */
  text: string;
  /** What the handler attached. */
  structured?: unknown;
  /** The same, only where the tool declares `output`: what reaches clients. */
  structuredContent?: unknown;
  /** What stands beside the text. */
  content?: ToolContent[] | undefined;
}

/** The error envelope. */
export interface DispatchFailure {
  ok: false;
  code: "TOOL_ERROR" | "INVALID_PARAMS";
  error: string;
  retryable: boolean;
}

/**
 * Runs one call as the host would, in this process: arguments are checked first, what the declaration
 * does not grant is refused, and what comes back is what a client would receive.
 *
 * Rejects when the test itself is wrong: no such tool, or a credential or setting that is not declared.
 */
export function dispatch(server: ToolkitDefinition, call: DispatchCall): Promise<DispatchResult> {
  return dispatchInto({ log: [], progress: [], requests: [], ingested: [] }, server, call);
}

/** The same; what the call leaves behind is in `trace` while it runs. */
async function dispatchInto(trace: Trace, server: ToolkitDefinition, call: DispatchCall): Promise<DispatchResult> {
  const { manifest } = server;
  checkWorld(manifest, call);
  const asked = call.tool ?? call.name ?? "";
  const name = asked.startsWith(`${manifest.id}__`) ? asked.slice(manifest.id.length + 2) : asked;
  const described = manifest.tools.find((it) => it.name === name);
  if (described === undefined) {
    const names = manifest.tools.map((it) => it.name).join(", ");
    throw new Error(`${JSON.stringify(manifest.id)} has no tool ${JSON.stringify(asked)}; it has ${names}`);
  }
  const { secrets = {}, config = {} } = call;
  const reply = await callTool(manifest, described, { args: call.arguments ?? call.args ?? {}, secrets, config }, (checked) =>
    runHandler(server, name, checked, call, trace),
  );
  trace.log = redactor(Object.values(secrets))(trace.log);
  return Object.defineProperty(reply, "trace", { value: trace }) as DispatchResult;
}

/** Runs a handler on arguments that fit. */
export async function runHandler(server: ToolkitDefinition, name: string, { args, config }: CheckedCall, world: TestWorld, trace: Trace): Promise<Ending> {
  const tool = server.config.tools.find((it) => it.name === name)!;
  const invocation = { userId: world.userId ?? "test-user", config };
  const ending = await run(tool, args, makeContext(server.config, invocation, testPlatform(server, world, trace)));
  if (ending.kind === "failure") trace.failure = ending.thrown;
  const isAboutSignIn = trace.signIn !== undefined && (ending.kind === "failure" || ending.kind === "tool-error");
  return isAboutSignIn ? { kind: "failed", cause: trace.signIn! } : plainEnding(ending);
}
