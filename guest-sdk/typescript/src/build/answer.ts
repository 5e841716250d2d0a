import { isToolkit, type ToolkitDefinition } from "../define.js";
import type { ModuleOutcome } from "./read.js";

/** Runs a module and reports what its default export is; also returns the toolkit, if it is one. */
export async function evaluateModule(start: () => Promise<{ default?: unknown }>): Promise<{ answer: ModuleOutcome; toolkit?: ToolkitDefinition }> {
  let exported: unknown;
  try {
    exported = (await start()).default;
  } catch (error) {
    const { name, message, problems, stack } = error as Error & { problems?: { path: string; message: string }[] };
    if (name === "DeclarationError") return { answer: { kind: "problems", message, problems: problems ?? [] } };
    return { answer: { kind: "thrown", message: error instanceof Error ? clean(stack ?? message) : String(error) } };
  }
  if (exported === undefined) return { answer: { kind: "no-default-export" } };
  if (!isToolkit(exported)) return { answer: { kind: "no-toolkit" } };
  return { answer: { kind: "declaration", declaration: exported.declaration }, toolkit: exported };
}

/** Removes the frames of Node.js and of this package's own files from a stack. */
function clean(stack: string): string {
  return stack.split("\n").filter((line) => !/node:internal|reading-thread|build\/answer|local\/current-call/.test(line)).join("\n");
}
