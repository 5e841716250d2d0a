import { check, issueLines } from "./issues.js";
import { ToolError, toolErrorWithin } from "./tool-error.js";
import type { AnyTool, ToolContent, ToolContext, ToolResult } from "./types.js";

/** How a handler ended. */
export type Ending =
  | { kind: "result"; text: string; structured: string | undefined; content: ToolContent[] }
  | { kind: "tool-error"; error: ToolError }
  | { kind: "invalid-params"; message: string }
  /** For the log alone. */
  | { kind: "failure"; thrown: unknown };

/** How a mismatch of `output` begins, here and on the host. */
export const MISMATCH = "The tool's structured result does not match its output schema:";

/** Runs one tool on arguments that keep the JSON Schema of its `input`. Never rejects. */
export async function run(tool: AnyTool, args: unknown, ctx: ToolContext): Promise<Ending> {
  try {
    // The schema may ask for more than JSON Schema can say, and it fills in defaults.
    const input = await check(tool.input, args);
    if (!input.success) return { kind: "invalid-params", message: issueLines(input.error).join("; ") };
    return await finish(tool, await tool.handler(input.data, ctx));
  } catch (thrown) {
    const error = toolErrorWithin(thrown);
    return error === undefined ? { kind: "failure", thrown } : { kind: "tool-error", error };
  }
}

async function finish(tool: AnyTool, returned: ToolResult | string): Promise<Ending> {
  if (typeof returned === "string") return { kind: "result", text: returned, structured: undefined, content: [] };
  if (typeof returned !== "object" || returned === null || typeof returned.text !== "string") {
    throw new TypeError("the handler must return a string or { text, structured? }");
  }
  const { text, content = [] } = returned;
  if (returned.structured === undefined) return { kind: "result", text, structured: undefined, content };

  let value: unknown = returned.structured;
  if (tool.output !== undefined) {
    const output = await check(tool.output, value);
    if (!output.success) {
      return { kind: "tool-error", error: new ToolError(`${MISMATCH} ${issueLines(output.error).join("; ")}`) };
    }
    value = output.data;
  }
  const structured = JSON.stringify(value);
  if (structured === undefined) throw new TypeError("the structured value cannot be written as JSON");
  return { kind: "result", text, structured, content };
}
