// `dispatch` under vitest, for authors who use that test runner.
import { expect, test, vi } from "vitest";

import { defineToolkit, dispatch, tool, z } from "kitbag/extend/toolkit";

test("dispatch works under vitest", async () => {
  const server = defineToolkit(
    {
      id: "one",
      name: "One",
      description: "One tool.",
      icon: "1️⃣",
      version: "1.0.0",
      egress: ["api.example"],
      tools: [
        tool({
          name: "go",
          description: "Goes.",
          input: z.object({ n: z.int() }),
          handler: async ({ n }, ctx) => JSON.stringify(await ctx.fetchJson(`https://api.example/${n}`)),
        }),
      ],
    },
    { fetchImpl: async (url) => Response.json({ url }) },
  );

  expect(await dispatch(server, { tool: "go", arguments: { n: 4 } })).toEqual({ ok: true, text: '{"url":"https://api.example/4"}' });
  expect(await dispatch(server, { tool: "go" })).toEqual({
    ok: false,
    code: "INVALID_PARAMS",
    error: 'Invalid arguments: /: "n" is a required property',
    retryable: false,
  });
});

/** Calls a tool with this handler. */
const go = (handler, call = {}) => {
  const tools = [tool({ name: "go", description: "Goes.", input: z.object({}), handler })];
  const server = defineToolkit({ id: "one", name: "One", description: "One tool.", icon: "1️⃣", version: "1.0.0", egress: ["api.example"], tools });
  return dispatch(server, { tool: "go", ...call });
};

test("handlers do not see Node.js, and vitest works in them", async () => {
  const spy = vi.fn(async () => new Response(typeof process));

  const { text } = await go(
    async (_, ctx) => {
      const { value } = await import("./lazy.mjs");
      expect(value).toBe("lazy");
      expect(() => Buffer.from("a")).toThrow(ReferenceError);
      console.log("a line of a handler");
      return `${await (await ctx.fetch("https://api.example/")).text()} ${typeof process} ${typeof Buffer}`;
    },
    { fetchImpl: spy },
  );

  expect(text).toBe("object undefined undefined");
  expect(spy).toHaveBeenCalledOnce();
});

test("a handler waits for the timers of vitest", async () => {
  vi.useFakeTimers();
  try {
    const call = go(async () => {
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      return "waited";
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await call).text).toBe("waited");
  } finally {
    vi.useRealTimers();
  }
  expect(typeof setImmediate).toBe("function");
});
