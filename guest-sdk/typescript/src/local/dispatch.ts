import type { ToolkitDefinition } from "../define.js";
import { makeContext } from "../context.js";
import type { Json } from "../manifest.js";
import { MISMATCH, run, type Ending } from "../run.js";
import { effective } from "../settings.js";
import type { ToolContent } from "../types.js";
import { redactor } from "./redaction.js";
import { violations } from "./violations.js";
import { checkWorld, testPlatform, type TestWorld, type Trace } from "./world.js";

export type { TestWorld, Trace };

/** One call of one tool in a test, and what it finds around it. */
export interface DispatchCall extends TestWorld {
  /** The tool, with or without the toolkit's prefix. */
  tool?: string;
  /** The same, as MCP's `tools/call` spells it. */
  name?: string;
  /** Its arguments; by default none. */
  arguments?: Record<string, unknown>;
  /** The same. */
  args?: Record<string, unknown>;
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
  content?: ToolContent[];
}

/** The error envelope. */
export interface DispatchFailure {
  ok: false;
  code: "TOOL_ERROR" | "INVALID_PARAMS";
  error: string;
  retryable: boolean;
}

/** What the model is told when a handler fails in any way but a `ToolError`. */
export const GENERIC = "The tool failed.";

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
export async function dispatchInto(trace: Trace, server: ToolkitDefinition, call: DispatchCall): Promise<DispatchResult> {
  const { manifest } = server;
  checkWorld(manifest, call);
  const asked = call.tool ?? call.name ?? "";
  const name = asked.startsWith(`${manifest.id}__`) ? asked.slice(manifest.id.length + 2) : asked;
  const index = manifest.tools.findIndex((it) => it.name === name);
  const [tool, described] = [server.config.tools[index], manifest.tools[index]];
  if (tool === undefined || described === undefined) {
    const names = manifest.tools.map((it) => it.name).join(", ");
    throw new Error(`${JSON.stringify(manifest.id)} has no tool ${JSON.stringify(asked)}; it has ${names}`);
  }

  const redact = redactor(Object.values(call.secrets ?? {}));
  const args = asJson(call.arguments ?? call.args ?? {});
  const wrong = violations(described.inputSchema, args);
  let ending: Ending = { kind: "invalid-params", message: wrong.join("; ") };
  if (wrong.length === 0) {
    const config = effective(manifest.config, call.config ?? {});
    const invocation = { userId: call.userId ?? "test-user", config };
    ending = await run(tool, args, makeContext(server.config, invocation, testPlatform(server, call, trace)));
  }
  if (ending.kind === "failure") trace.failure = ending.thrown;
  trace.log = redact(trace.log);
  const reply = redact(replyTo(ending, described.outputSchema));
  return Object.defineProperty(reply, "trace", { value: trace }) as DispatchResult;
}

function replyTo(ending: Ending, output: Json | undefined): DispatchSuccess | DispatchFailure {
  switch (ending.kind) {
    case "tool-error":
      return failure("TOOL_ERROR", String(ending.error.message), ending.error.retryable === true);
    case "invalid-params":
      return failure("INVALID_PARAMS", `Invalid arguments: ${ending.message}`);
    case "failure":
      return failure("TOOL_ERROR", GENERIC);
    case "result": {
      const { text, structured, content } = ending;
      const reply: DispatchSuccess = { ok: true, text };
      if (content.length > 0) reply.content = content;
      if (structured === undefined) return reply;
      const value = JSON.parse(structured) as Json;
      const wrong = output === undefined ? [] : violations(output, value);
      if (wrong.length > 0) return failure("TOOL_ERROR", `${MISMATCH} ${wrong.join("; ")}`);
      return { ...reply, structured: value, ...(output !== undefined && { structuredContent: value }) };
    }
  }
}

function failure(code: DispatchFailure["code"], error: string, retryable = false): DispatchFailure {
  return { ok: false, code, error, retryable };
}

/** Arguments travel as JSON: what a client cannot send, a test does not either. */
function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}
