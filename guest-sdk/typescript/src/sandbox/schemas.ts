// Configures zod in the sandbox. Must be imported before the author's module, which creates schemas.
import { z } from "zod";

import type { AnyTool } from "../types.js";

// Otherwise zod generates and compiles code for each schema on first use, which would happen again in every
// call.
z.config({ jitless: true });

/** zod's schema compiler; `undefined` before version 4.6. */
const compile = (z as { compile?: <S>(schema: S) => S }).compile;

/** Returns a tool with compiled schemas. Runs while the component is built, so that calls are faster. */
export function withCompiledSchemas(tool: AnyTool): AnyTool {
  if (compile === undefined) return tool;
  return { ...tool, input: compile(tool.input), ...(tool.output !== undefined && { output: compile(tool.output) }) };
}
