import { isToolkit, type ToolkitDefinition } from "../define.js";
import type { Answer } from "./read.js";

/** Runs a module and says what its default export is; the toolkit itself, where it is one. */
export async function answerOf(start: () => Promise<{ default?: unknown }>): Promise<{ answer: Answer; toolkit?: ToolkitDefinition }> {
  let made: unknown;
  try {
    made = (await start()).default;
  } catch (error) {
    const { name, message, problems, stack } = error as Error & { problems?: { path: string; message: string }[] };
    if (name === "DeclarationError") return { answer: { kind: "problems", message, problems: problems ?? [] } };
    return { answer: { kind: "thrown", message: error instanceof Error ? clean(stack ?? message) : String(error) } };
  }
  if (made === undefined) return { answer: { kind: "no-default-export" } };
  if (!isToolkit(made)) return { answer: { kind: "no-toolkit" } };
  return { answer: { kind: "declaration", declaration: made.declaration }, toolkit: made };
}

/** Without the lines of Node.js itself. */
function clean(stack: string): string {
  return stack.split("\n").filter((line) => !/node:internal|reading-thread|build\/answer/.test(line)).join("\n");
}
