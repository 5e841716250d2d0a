// A checkout makes the modules that it lacks where an author first needs them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { folder } from "../support.mjs";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

test("modules are made before the threads that read them start, with the environment of the command", async () => {
  // In place of `npx -y rust-just RECIPE`: copies the modules of the recipe, in more time than a thread has to read them.
  const checkout = await folder({
    "bin/npx": `#!/bin/sh
echo "$*" >> "$CHECKOUT/recipes"
case $3 in
build-rules) sleep 11; cp "$BUILT/rules.wasm" "$CHECKOUT/guest-sdk/typescript" ;;
build-engine) cp "$BUILT"/engine*.wasm "$BUILT/componentizer.wasm" "$CHECKOUT/guest-sdk/typescript" ;;
esac
`,
    "toolkit/extension.ts": `import { defineToolkit, tool, z } from "kitbag/extend/toolkit";
export default defineToolkit({
  id: "small", name: "Small", description: "Small.", icon: "🐜", version: "1.0.0",
  tools: [tool({ name: "go", description: "Goes.", input: z.object({}), handler: async () => "gone" })],
});`,
  });
  await chmod(join(checkout, "bin/npx"), 0o755);
  const sdk = join(checkout, "guest-sdk/typescript");
  await mkdir(join(sdk, "engine"), { recursive: true });
  await writeFile(join(sdk, "engine/Cargo.toml"), "");
  for (const name of ["bin", "dist", "types"]) await cp(join(PACKAGE, name), join(sdk, name), { recursive: true });
  await cp(join(PACKAGE, "package.json"), join(sdk, "package.json"));
  await symlink(join(PACKAGE, "node_modules"), join(sdk, "node_modules"));
  await mkdir(join(checkout, "toolkit/node_modules"));
  await symlink(sdk, join(checkout, "toolkit/node_modules/kitbag"));

  const built = spawnSync(process.execPath, [join(sdk, "bin/kitbag.js"), "build", join(checkout, "toolkit/extension.ts")], {
    encoding: "utf8",
    env: { ...process.env, PATH: [join(checkout, "bin"), process.env.PATH].join(delimiter), CHECKOUT: checkout, BUILT: PACKAGE },
  });

  assert.equal(built.status, 0, built.stderr);
  assert.equal(await readFile(join(checkout, "recipes"), "utf8"), "-y rust-just build-rules\n-y rust-just build-engine\n");
});
