import type { ToolkitDefinition } from "../define.js";
import { makeContext } from "../context.js";
import { runOffer, type OfferEnding, type OfferTarget } from "../offers.js";
import { run, type Ending as HandlerEnding } from "../run.js";
import type { DispatchFailure, DispatchSuccess } from "../reply.js";
import type { ToolContext } from "../types.js";
import { missingGlobalMessage } from "../sandbox-globals.js";
import { callTool, plainEnding, type CheckedCall, type Ending } from "./call.js";
import { insideCall } from "./current-call.js";
import { withHandlerGlobals } from "./handler-globals.js";
import { Questions } from "./questions.js";
import { newTrace, redactTrace, redactedValues, type Trace } from "./trace.js";
import { checkWorld, testPlatform, type CallWorld, type TestWorld } from "./world.js";

export type { DispatchFailure, DispatchSuccess, TestWorld, Trace };

/** One tool call in a test, with its environment. */
export interface DispatchCall extends TestWorld {
  /** Name of the tool, with or without the prefix `{toolkitId}__`. */
  tool?: string | undefined;
  /** Alias of `tool`, as named in MCP's `tools/call`. Used if `tool` is not set. */
  name?: string | undefined;
  /** Arguments of the tool; by default none. */
  arguments?: Record<string, unknown> | undefined;
  /** Alias of `arguments`, which takes precedence. */
  args?: Record<string, unknown> | undefined;
}

/**
 * The reply that a client would receive, and `trace` (not enumerable): the effects of the call, for
 * assertions.
 */
export type DispatchResult = (DispatchSuccess | DispatchFailure) & { readonly trace: Trace };

/**
 * Runs one tool call in this process as the host would: validates arguments and result, refuses what the
 * declaration does not grant, and resolves with the reply that a client would receive. Handlers do not see the globals
 * of Node.js that the sandbox lacks.
 *
 * A failed call resolves with `ok: false`. Rejects only if the test itself is wrong: there is no such tool,
 * a credential, setting or account is not declared or does not fit, or the answer to a question is missing or does not
 * fit.
 */
export function dispatch(server: ToolkitDefinition, call: DispatchCall): Promise<DispatchResult> {
  return dispatchInto(newTrace(), server, call);
}

/** Runs a call as `dispatch` does, and records its effects in `trace` while it runs. */
async function dispatchInto(trace: Trace, server: ToolkitDefinition, call: DispatchCall): Promise<DispatchResult> {
  const { manifest } = server;
  checkWorld(manifest, call);
  const requested = call.tool ?? call.name ?? "";
  const name = requested.startsWith(`${manifest.id}__`) ? requested.slice(manifest.id.length + 2) : requested;
  const described = manifest.tools.find((it) => it.name === name);
  if (described === undefined) {
    const names = manifest.tools.map((it) => it.name).join(", ");
    throw new Error(`${JSON.stringify(manifest.id)} has no tool ${JSON.stringify(requested)}; it has ${names}`);
  }
  const redacted = redactedValues(call, trace);
  const { config = {} } = call;
  const reply = await callTool(manifest, described, { args: call.arguments ?? call.args ?? {}, redacted, config }, (checked) =>
    withHandlerGlobals(() => runTarget(server, { kind: "tool", name }, checked, call, trace)),
  );
  redactTrace(trace, redacted);
  return Object.defineProperty(reply, "trace", { value: trace }) as DispatchResult;
}

/** Target of a call: a tool, a prompt, a resource or a completion. */
export type Target = OfferTarget | { kind: "tool"; name: string };

/** Runs the target's handler with valid arguments. */
export async function runTarget(
  server: ToolkitDefinition,
  target: Target,
  { args, config }: CheckedCall,
  world: CallWorld,
  trace: Trace,
): Promise<Ending> {
  // As in the sandbox, each run gets a fresh copy of the arguments.
  const start = (ctx: ToolContext) => {
    if (target.kind !== "tool") return runOffer(server.config, target, args as Record<string, string>, ctx);
    return run(server.config.tools.find((it) => it.name === target.name)!, structuredClone(args), ctx);
  };
  const invocation = { userId: world.userId ?? "test-user", config };
  const questions = new Questions(target.kind === "tool" ? world.answers : {}, trace.questions);
  const platform = testPlatform(server, world, trace, questions);
  let ending: HandlerEnding | OfferEnding | "asked";
  do {
    const asked = questions.nextRun();
    const ctx = makeContext(server.config, invocation, platform);
    const ended = insideCall(ctx.fetch, async () => start(ctx));
    ending = await Promise.race([ended, asked]);
  } while (ending === "asked");
  if (ending.kind === "failure") trace.failure = explained(ending.thrown);
  const isHandlers = ending.kind === "failure" || ending.kind === "tool-error";
  return isHandlers && trace.signIn !== undefined ? { kind: "refused", failure: trace.signIn } : plainEnding(ending);
}

/** Returns the exception, with an explanation if the cause is a global that the sandbox lacks. */
function explained(thrown: unknown): unknown {
  const message = missingGlobalMessage(thrown);
  if (message === undefined) return thrown;
  const error = thrown as Error;
  const stack = error.stack?.replace(error.message, () => message);
  return Object.assign(error, { message, stack });
}
