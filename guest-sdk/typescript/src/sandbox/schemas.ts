// The schema library in the sandbox. A component's second import: before the author's module makes schemas.
import { z } from "zod";

import type { AnyTool } from "../types.js";

// It would write code for each schema when that is first used, and compile it: in every call anew.
z.config({ jitless: true });

/** The library's compiler, which versions before 4.6 lack. */
const compile = (z as { compile?: <S>(schema: S) => S }).compile;

/** Returns a tool whose schemas are compiled: now, while the component is made, and not in a call. */
export function withCompiledSchemas(tool: AnyTool): AnyTool {
  if (compile === undefined) return tool;
  return { ...tool, input: compile(tool.input), ...(tool.output !== undefined && { output: compile(tool.output) }) };
}
