import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";

import { quickGlue } from "./glue.js";
import { WORLD } from "./world.js";

// The maker has no way to change the script that it writes for itself, except where it writes it.
const { writeFile } = files;
files.writeFile = async (path, content, ...options) => {
  const isGlue = typeof path === "string" && basename(path) === "initializer.js" && typeof content === "string";
  return writeFile(path, isGlue ? quickGlue(content) : content, ...options);
};
syncBuiltinESMExports();
const { componentize } = await import("@bytecodealliance/componentize-js");

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
