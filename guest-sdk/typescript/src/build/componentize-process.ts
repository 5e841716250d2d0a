import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { componentize } from "@bytecodealliance/componentize-js";

import { WORLD } from "./world.js";

// Nobody waits for the component of a build that was ended.
const abandoned = () => process.exit(1);
process.once("disconnect", abandoned);

const [directory, bundle, http] = process.argv.slice(2) as [string, string, string];
try {
  const { component } = await componentize({
    sourcePath: join(directory, bundle),
    witPath: join(directory, "wit"),
    worldName: WORLD,
    disableFeatures: http === "http" ? ["fetch-event"] : ["fetch-event", "http"],
  });
  await writeFile(join(directory, "component.wasm"), component);
} catch (error) {
  process.send?.({ failure: error instanceof Error ? error.message : String(error) });
}
process.off("disconnect", abandoned);
process.disconnect?.();
