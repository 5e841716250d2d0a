import assert from "node:assert/strict";
import { test } from "node:test";

import { dispatch } from "kitbag/extend/toolkit";

import toolkit from "./extension.ts";

/** A stand-in for the API, with one rate per day. */
function bank(url) {
  const { pathname, searchParams } = new URL(url);
  const day = pathname.split("/").at(-1);
  const rate = { latest: 1.1, "2020-01-02": 1 }[day];
  if (rate === undefined) return new Response('{"message":"not found"}', { status: 404 });
  const symbols = (searchParams.get("symbols") ?? "").split(",");
  return Response.json({ base: searchParams.get("base"), date: day === "latest" ? "2026-01-02" : day, rates: Object.fromEntries(symbols.map((code) => [code, rate])) });
}

const call = (tool, args, options = {}) => dispatch(toolkit, { tool, arguments: args, fetchImpl: bank, ...options });

test("an amount goes into the home currency by default", async () => {
  const result = await call("convert", { amount: 10, from: "usd" });

  assert.equal(result.text, "10 USD = 11.00 EUR (2026-01-02)");
  assert.deepEqual(result.structuredContent, {
    date: "2026-01-02",
    from: "USD",
    amount: 10,
    converted: [{ currency: "EUR", amount: 11, rate: 1.1 }],
  });
});

test("the user's settings say which currency is home, and how exact amounts are", async () => {
  const result = await call("convert", { amount: 1, from: "USD" }, { config: { home: "chf", decimals: 0 } });

  assert.equal(result.text, "1 USD = 1 CHF (2026-01-02)");
});

test("two days are asked for at once", async () => {
  const result = await call("compare", { currency: "USD", since: "2020-01-02" });

  assert.deepEqual(result.structuredContent, { currency: "USD", against: "EUR", before: 1, after: 1.1, percent: 10 });
  assert.equal(result.trace.requests.length, 2);
});

test("a day without rates is said in words", async () => {
  const result = await call("convert", { amount: 1, from: "USD", date: "1990-01-01" });

  assert.deepEqual({ ...result }, { ok: false, code: "TOOL_ERROR", error: "There are no rates of USD and EUR on 1990-01-01.", retryable: false });
});

test("an amount of nothing, and a code that is none, never reach the bank", async () => {
  for (const [args, said] of [[{ amount: 0, from: "USD" }, /\/amount: value is less/], [{ amount: 1, from: "dollars" }, /\/from: must be a currency code such as EUR$/]]) {
    const result = await call("convert", args);

    assert.equal(result.code, "INVALID_PARAMS");
    assert.match(result.error, said);
    assert.deepEqual(result.trace.requests, []);
  }
});

test("the tools say that they talk to the outside world, and change nothing", () => {
  for (const { annotations } of toolkit.manifest.tools) {
    assert.deepEqual(annotations, { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true });
  }
});
