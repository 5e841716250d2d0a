import { check, issueLines } from "./issues.js";
import { step } from "./step.js";
import { ToolError, toolErrorWithin } from "./tool-error.js";
import type { AnyTool, ToolContent, ToolContext, ToolResult } from "./types.js";

/** How a handler ended. */
export type Ending =
  | { kind: "result"; text: string; structured: string | undefined; content: ToolContent[] }
  | { kind: "tool-error"; error: ToolError }
  | { kind: "invalid-params"; message: string }
  /** For the log alone. */
  | { kind: "failure"; thrown: unknown };

/** How a mismatch of `output` begins, here and on the host: what only the schema itself can see is seen here. */
const MISMATCH = "The tool's structured result does not match its output schema:";

/** Runs one tool on arguments that keep the JSON Schema of its `input`. Neither throws nor rejects. */
export function run(tool: AnyTool, args: unknown, ctx: ToolContext): Ending | Promise<Ending> {
  // The schema may ask for more than JSON Schema can say, and it fills in defaults.
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
  const result = typeof returned === "string" ? { text: returned } : returned;
  if (typeof result !== "object" || result === null || typeof result.text !== "string") {
    throw new TypeError("the handler must return a string or { text, structured? }");
  }
  const { text, structured, content = [] } = result;
  const { output } = tool;
  if (structured === undefined) {
    // A client that knows the output schema takes a result without a structured value for a broken answer.
    if (output !== undefined) return { kind: "tool-error", error: new ToolError(`${MISMATCH} /: the handler returned no structured value`) };
    return { kind: "result", text, structured, content };
  }
  if (output === undefined) return { kind: "result", text, structured: json(structured), content };
  return step(
    () => check(output, structured),
    (checked) => {
      if (checked.success) return { kind: "result", text, structured: json(checked.data), content };
      return { kind: "tool-error", error: new ToolError(`${MISMATCH} ${issueLines(checked.error).join("; ")}`) };
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
