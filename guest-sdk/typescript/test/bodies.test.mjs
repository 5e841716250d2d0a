// What stands in for a response must be like it. Node.js has these classes too, and they are as strict.
import assert from "node:assert/strict";
import { test } from "node:test";

import { clone, standIn } from "../dist/sandbox/bodies.js";

test("both halves of a clone know what their bodies are", async () => {
  for (const [reader, body, type, read] of [
    ["blob", "x", "text/csv", ({ type }) => type],
    ["formData", "a=b", "application/x-www-form-urlencoded", (form) => form.get("a")],
  ]) {
    const response = new Response(body, { headers: { "content-type": type } });
    const copy = clone.call(response);
    const [mine, theirs] = [read(await response[reader]()), read(await copy[reader]())];
    assert.equal(mine, reader === "blob" ? type : "b");
    assert.equal(theirs, mine);
  }
});

test("a status that no constructor takes is kept, and cloned", async () => {
  const odd = { status: 999, statusText: "Odd", ok: false, url: "https://api.example/", headers: new Headers({ "x-own": "1" }) };
  const made = standIn(odd, new Response("body").body);
  for (const response of [made, clone.call(made)]) {
    assert.deepEqual([response.status, response.statusText, response.ok, response.url], [999, "Odd", false, "https://api.example/"]);
    assert.equal(response.headers.get("x-own"), "1");
    assert.equal(await response.text(), "body");
  }
});
