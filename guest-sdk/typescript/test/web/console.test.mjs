// What the console prints, in Node.js and in the engine.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { bundled } from "./bundle.mjs";
import { ENGINE, inEngine } from "./engine.mjs";

const SCRIPT = fileURLToPath(new URL("console-lines.mjs", import.meta.url));
const skip = ENGINE === undefined && "TEST_ENGINE is not set";

test("the console prints what Node.js prints", { skip }, async () => {
  const node = await promisify(execFile)(process.execPath, [
    "--import",
    "data:text/javascript,globalThis.self = globalThis",
    SCRIPT,
  ]);

  const engine = await inEngine(await bundled(['export { default } from "./console-lines.mjs";']));

  assert.deepEqual(engine.log.split("\n"), node.stdout.split("\n"));
});

test("what the console prints is bounded", { skip }, async () => {
  const hostile = `
    let deep = {}; for (let i = 0; i < 10_000; i += 1) deep = { deep };
    console.dir(deep, { depth: null });
    console.log(Array(1_000_000).fill("x"));
    console.log("y".repeat(5_000_000).split("").map((it) => ({ it })));
    console.log(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [i, i])));
    const wide = (depth) => (depth === 0 ? 1 : Array.from({ length: 20 }, () => wide(depth - 1)));
    console.dir(wide(4), { depth: null });
    console.log(new Proxy({}, { get() { throw new Error("no"); }, ownKeys() { throw new Error("no"); } }));
    console.log({ get [Symbol.toStringTag]() { throw new Error("no"); } });
    class Endless { [Symbol.for("nodejs.util.inspect.custom")]() { return new Endless(); } }
    console.log(new Endless());
    export default "went on";
  `;

  const { value, log } = await inEngine(await bundled([hostile]));

  assert.equal(value, "went on");
  assert.ok(log.length < 1024 * 1024, `${log.length} characters`);
});

test("an error is printed with its stack, its cause and its members", { skip }, async () => {
  const script =
    'console.error(Object.assign(new TypeError("outer", { cause: new RangeError("inner") }), { code: 7 })); export default null;';

  const { log } = await inEngine(await bundled([script]));

  assert.match(log, /^TypeError: outer\n +at .*cases\.js/);
  assert.match(log, /\[cause\]: RangeError: inner\n/);
  assert.match(log, /code: 7/);
});

test("an exception in a timer or a listener is printed, and ends nothing", { skip }, async () => {
  const script = `
    setTimeout(() => { throw new RangeError("in a timer"); }, 1);
    const target = new EventTarget();
    target.addEventListener("x", () => { throw new RangeError("in a listener"); });
    target.dispatchEvent(new Event("x"));
    reportError("a text");
    export default new Promise((resolve) => setTimeout(resolve, 10, "went on"));
  `;

  const { value, log } = await inEngine(await bundled([script]));

  assert.equal(value, "went on");
  assert.deepEqual(log.match(/Uncaught .*/g), [
    "Uncaught RangeError: in a listener",
    "Uncaught 'a text'",
    "Uncaught RangeError: in a timer",
  ]);
});
