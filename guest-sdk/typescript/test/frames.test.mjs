// Mapping of positions in the bundle to positions in the author's files.
import assert from "node:assert/strict";
import { test } from "node:test";

import { embeddedMap } from "../dist/build/source-map.js";
import { FrameMap, failureText } from "../dist/sandbox/stack.js";

const map = (sources, mappings) => JSON.stringify({ version: 3, sources, names: [], mappings });

test("only the author's files are kept, and each place ends where another's begins", () => {
  // Bundle line 1: column 0 is the library's, 10 the author's line 3 column 5, 20 the library's again.
  const embedded = embeddedMap(map(["node_modules/x/a.js", "extension.ts"], "AAAA,UCEI,UDFJ"), "toolkit.js", "/project");
  assert.deepEqual(embedded.sources, ["extension.ts"]);

  const frames = new FrameMap(embedded);
  assert.equal(frames.find(1, 5), undefined);
  assert.equal(frames.find(1, 11), "extension.ts:3:5");
  assert.equal(frames.find(1, 20), "extension.ts:3:5");
  assert.equal(frames.find(1, 21), undefined);
  assert.equal(frames.find(2, 1), undefined);
  assert.equal(new FrameMap({ file: "toolkit.js", sources: [], mappings: "" }).find(1, 1), undefined);
});

test("a failure is told with its causes, in the author's lines", () => {
  const frames = new FrameMap(embeddedMap(map(["extension.ts"], "AAAA;AACA"), "toolkit.js", "/project"));
  const error = Object.assign(new Error("outer", { cause: "a string" }), {
    stack: "    at handler (toolkit.js:2:4)\n    at <anonymous> (toolkit.js:2:4)\n    at call (toolkit.js:1:1)\n    at other (elsewhere.js:1:1)\n    at map (native)\n",
  });
  assert.equal(
    failureText(error, frames),
    "Error: outer\n    at handler (extension.ts:2:1)\n    at extension.ts:2:1\n    at call (extension.ts:1:1)\nCaused by: the handler threw \"a string\"",
  );
});

test("the errors of an AggregateError are told, and frames that are mapped already stay", () => {
  const frames = new FrameMap(embeddedMap(map(["extension.ts"], "AAAA;AACA"), "toolkit.js", "/project"));
  const inner = Object.assign(new Error("inner"), { stack: "    at one (extension.ts:7:1)\n    at two (toolkit.js:2:4)\n" });
  const error = Object.assign(new AggregateError([inner, "text"], "both"), { stack: "" });
  assert.equal(
    failureText(error, frames),
    'AggregateError: both\nError 1 of 2: Error: inner\n    at one (extension.ts:7:1)\n    at two (extension.ts:2:1)\nError 2 of 2: the handler threw "text"',
  );
});
