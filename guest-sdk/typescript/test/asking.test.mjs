// `ctx.ask` in tests: a question ends the run, and the handler runs again with the answer.
import assert from "node:assert/strict";
import { test } from "node:test";

import { CannotAskError, defineToolkit, dispatch, tool, ToolError, z } from "kitbag/extend/toolkit";

function toolkit(handler, scopes = ["svc:ask"]) {
  const go = tool({ name: "go", description: "Goes.", input: z.object({}), handler });
  return defineToolkit({ id: "one", name: "One", description: "One tool.", icon: "1️⃣", version: "1.0.0", scopes, tools: [go] });
}

const go = (handler, call = {}, scopes) => dispatch(toolkit(handler, scopes), { tool: "go", ...call });

const Trip = z.object({
  city: z.string().max(6).describe("Where to?"),
  mail: z.email().optional(),
  day: z.iso.date().optional(),
  days: z.int().min(1).max(9).default(3),
  by: z.enum(["train", "bus"]).optional(),
  also: z.array(z.enum(["food", "bed"])).optional(),
  sure: z.boolean(),
});

test("a handler runs again with the answer, which zod reads", async () => {
  const handler = async (_, ctx) => {
    ctx.log("begins");
    const asked = await ctx.ask({ key: "trip", message: "Where?", schema: Trip });
    return asked.action === "accept" ? `${asked.value.city} for ${asked.value.days} days` : asked.action;
  };

  const result = await go(handler, { answers: { trip: { city: "Oslo", sure: true, surplus: 1 } } });
  assert.equal(result.text, "Oslo for 3 days");
  assert.deepEqual(result.trace.log, [["begins"], ["begins"]]);
  const [{ key, message, schema }] = result.trace.questions;
  assert.deepEqual([key, message, result.trace.questions.length], ["trip", "Where?", 1]);
  assert.deepEqual(schema.properties.city, { type: "string", maxLength: 6, description: "Where to?" });
  assert.deepEqual(schema.properties.mail, { type: "string", format: "email" });
  assert.deepEqual(schema.required, ["city", "sure"]);

  assert.equal((await go(handler, { answers: { trip: "decline" } })).text, "decline");
  assert.equal((await go(handler, { answers: { trip: "cancel" } })).text, "cancel");
});

test("a question without a schema is a yes or a no, and one without a key is counted", async () => {
  const handler = async (_, ctx) => {
    const first = await ctx.ask({ message: "One?" });
    const second = await ctx.ask({ message: "Two?" });
    return `${first.action} ${second.action}`;
  };
  const result = await go(handler, { answers: { "question-1": {}, "question-2": "decline" } });
  assert.equal(result.text, "accept decline");
  assert.deepEqual(result.trace.questions.map((it) => it.schema), [{ type: "object", properties: {} }, { type: "object", properties: {} }]);
});

test("JSON Schema will do, and the answer is checked against it", async () => {
  const schema = { type: "object", properties: { city: { type: "string", maxLength: 6 } }, required: ["city"] };
  const handler = async (_, ctx) => JSON.stringify(await ctx.ask({ key: "a", message: "Where?", schema }));
  assert.equal((await go(handler, { answers: { a: { city: "Oslo" } } })).text, '{"action":"accept","value":{"city":"Oslo"}}');
  await assert.rejects(go(handler, { answers: { a: { city: "Trondheim" } } }), /the answer to the question "a" does not fit: \/city/);
});

test("what zod alone refuses is an error that the model reads", async () => {
  const schema = z.object({ code: z.string().regex(/^[a-z]+$/) });
  const handler = async (_, ctx) => JSON.stringify(await ctx.ask({ key: "a", message: "Which?", schema }));
  const refused = await go(handler, { answers: { a: { code: "123" } } });
  assert.match(refused.error, /^the answer to the question a: /);
});

test("a user who cannot be asked is an error that can be caught", async () => {
  const handler = async (_, ctx) => (await ctx.ask({ message: "Sure?" })).action;
  const refused = await go(handler);
  assert.deepEqual([refused.ok, refused.code], [false, "TOOL_ERROR"]);
  assert.match(refused.error, /cannot be asked here/);
  const caught = await go(async (_, ctx) => {
    try {
      return (await ctx.ask({ message: "Sure?" })).action;
    } catch (error) {
      return String(error instanceof CannotAskError && error instanceof ToolError);
    }
  });
  assert.equal(caught.text, "true");
});

test("a toolkit without the scope asks nobody, and no form asks for a credential", async () => {
  const handler = async (_, ctx) => (await ctx.ask({ message: "Sure?" })).action;
  const undeclared = await go(handler, { answers: { "question-1": {} } }, []);
  assert.match(String(undeclared.trace.failure), /does not declare the scope svc:ask/);
  const password = async (_, ctx) => (await ctx.ask({ message: "Sign in.", schema: z.object({ password: z.string() }) })).action;
  const refused = await go(password, { answers: { "question-1": {} } });
  assert.match(String(refused.trace.failure), /schema.properties.password: asks for a credential/);
  for (const question of [{ message: 7 }, { message: "Sure?", key: 7 }, { message: "Sure?", key: "a b" }, { message: "Sure?", schema: "x" }]) {
    const bad = await go(async (_, ctx) => (await ctx.ask(question)).action, { answers: { "question-1": {} } });
    assert.match(String(bad.trace.failure), /the question cannot be asked/, JSON.stringify(question));
  }
});

test("a question that changes is another one, and there are five", async () => {
  let runs = 0;
  const handler = async (_, ctx) => (await ctx.ask({ key: "a", message: `Question ${++runs}?` })).action;
  const result = await go(handler, { answers: { a: {} } });
  assert.match(String(result.trace.failure), /has asked 5 questions/);
  assert.equal(runs, 6);
});
