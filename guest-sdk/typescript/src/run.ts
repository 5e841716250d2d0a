import { check, issueLines } from "./issues.js";
import { checkedReturn } from "./result-check.js";
import { step } from "./step.js";
import { outputMismatch } from "./texts.js";
import { ToolError, toolErrorWithin } from "./tool-error.js";
import type { AnyTool, ToolContent, ToolContext, ToolResult } from "./types.js";

/** Outcome of a handler. */
export type Ending =
  | { kind: "result"; text: string; structured: string | undefined; content: ToolContent[] }
  | { kind: "tool-error"; error: ToolError }
  | { kind: "invalid-params"; message: string }
  /** Any other exception: for the log only. */
  | { kind: "failure"; thrown: unknown };

/** Runs one tool with arguments that match the JSON Schema of its `input`. Neither throws nor rejects. */
export function run(tool: AnyTool, args: unknown, ctx: ToolContext): Ending | Promise<Ending> {
  // The zod schema may be stricter than its JSON Schema, and it fills in defaults.
  return step(
    () => check(tool.input, args),
    (input) => {
      if (!input.success) return { kind: "invalid-params", message: issueLines(input.error).join("; ") };
      return step(() => tool.handler(input.data, ctx), (returned) => finish(tool, returned), failed);
    },
    failed,
  );
}

function finish(tool: AnyTool, returned: ToolResult | string): Ending | Promise<Ending> {
  const { text, structured, content = [] } = checkedReturn(returned);
  const { output } = tool;
  if (structured === undefined) {
    // Clients that know the output schema reject a result without a structured value.
    if (output !== undefined) return { kind: "tool-error", error: new ToolError(outputMismatch(["/: the handler returned no structured value"])) };
    return { kind: "result", text, structured, content };
  }
  if (output === undefined) return { kind: "result", text, structured: json(structured), content };
  return step(
    () => check(output, structured),
    (checked) => {
      if (checked.success) return { kind: "result", text, structured: json(checked.data), content };
      return { kind: "tool-error", error: new ToolError(outputMismatch(issueLines(checked.error))) };
    },
    failed,
  );
}

function json(value: unknown): string {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError("the structured value cannot be written as JSON");
  return text;
}

function failed(thrown: unknown): Ending {
  const error = toolErrorWithin(thrown);
  return error === undefined ? { kind: "failure", thrown } : { kind: "tool-error", error };
}
