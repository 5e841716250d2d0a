// `dispatch` under vitest, for authors who use that test runner.
import { expect, test } from "vitest";

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
