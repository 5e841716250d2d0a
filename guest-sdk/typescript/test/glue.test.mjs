import assert from "node:assert/strict";
import { readFile, mkdtemp, writeFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { quickGlue } from "../dist/build/glue.js";
import { readContract, sandboxedWorld } from "../dist/build/world.js";

const MAKER = new URL("../node_modules/@bytecodealliance/componentize-js/lib/", import.meta.url);

test("the script of the component maker is the one that is known", async () => {
  const { splicer } = await import(new URL("spidermonkey-embedding-splicer.js", MAKER).href);
  const directory = await mkdtemp(join(tmpdir(), "kitbag-glue-"));
  try {
    await writeFile(join(directory, "toolkit.wit"), sandboxedWorld(await readContract(), { interfaces: ["log", "progress"], http: false }));
    const engine = await readFile(new URL("starlingmonkey_embedding.wasm", MAKER));
    const { jsBindings } = splicer.spliceBindings(engine, ["stdio", "random", "clocks"], undefined, directory, "sandboxed", false);

    const quick = quickGlue(jsBindings);

    assert.match(quick, /TEXT_ENCODER_UTF8\.encode\(s\)/);
    assert.doesNotMatch(quick, /charCodeAt/);
    assert.match(quick, /^contentGlobal\["kitbag:rehearsal"\]/m);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("another script stays as it is", () => {
  const other = "async function export_tools_9_9_9$call(arg0) {\n}\nfunction other() {}\n";

  assert.equal(quickGlue(other), other);
});
