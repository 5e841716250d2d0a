import assert from "node:assert/strict";
import { test } from "node:test";

import { dispatch } from "kitbag/extend/toolkit";

import toolkit from "./extension.ts";

const answer = { translations: [{ text: "Guten Tag", detected_source_language: "EN" }] };

function translate(fetchImpl, more = {}) {
  const options = { secrets: { DEEPL_API_KEY: "key-of-a-test:fx" }, fetchImpl, ...more };
  return dispatch(toolkit, { tool: "translate", arguments: { text: "Good day", to: "de" }, ...options });
}

test("the key travels in the header, to the host of its plan", async () => {
  const seen = [];
  const result = await translate((url, init) => {
    seen.push([url, init.headers.authorization, JSON.parse(init.body)]);
    return Response.json(answer);
  });

  assert.equal(result.text, "Guten Tag");
  const body = { text: ["Good day"], target_lang: "DE", formality: "default" };
  assert.deepEqual(seen, [["https://api-free.deepl.com/v2/translate", "DeepL-Auth-Key key-of-a-test:fx", body]]);
});

test("a paid key goes to the other host, and the form of address is the user's", async () => {
  const seen = [];
  const fetchImpl = (url, init) => (seen.push([new URL(url).host, JSON.parse(init.body).formality]), Response.json(answer));
  await translate(fetchImpl, { secrets: { DEEPL_API_KEY: "a-paid-key" }, config: { formality: "prefer_more" } });

  assert.deepEqual(seen, [["api.deepl.com", "prefer_more"]]);
});

test("without a key nothing is sent, and the user learns how to set it", async () => {
  const result = await translate(() => assert.fail("nothing is sent"), { secrets: {} });

  assert.equal(result.ok, false);
  assert.match(result.error, /kitbag secret set translate DEEPL_API_KEY --from-stdin/);
});

test("what DeepL refuses is said in words that help", async () => {
  const status = async (code) => (await translate(() => new Response("", { status: code }))).error;

  assert.match(await status(403), /does not accept the API key/);
  assert.match(await status(456), /used up/);
  assert.match(await status(400), /does not know one of the languages/);
});

test("a wrong language code never reaches DeepL", async () => {
  const result = await dispatch(toolkit, { tool: "translate", arguments: { text: "x", to: "german" } });

  assert.equal(result.code, "INVALID_PARAMS");
  assert.match(result.error, /\/to: must be a language code/);
});

test("what is left of the month", async () => {
  const fetchImpl = () => Response.json({ character_count: 200, character_limit: 500 });
  const result = await dispatch(toolkit, { tool: "usage", secrets: { DEEPL_API_KEY: "key-of-a-test" }, fetchImpl });

  assert.equal(result.text, "200 of 500 characters used, 300 left.");
});
