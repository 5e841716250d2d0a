// `toFetchHandler` with the official MCP clients, which may reject replies that the other tests accept.
import assert from "node:assert/strict";
import { after, test } from "node:test";

import * as current from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { defineToolkit, toFetchHandler, tool, ToolError, z } from "kitbag/extend/toolkit";

const toolkit = defineToolkit({
  id: "sums",
  name: "Sums",
  description: "Adds numbers.",
  icon: "➕",
  version: "1.0.0",
  tools: [
    tool({
      name: "add",
      title: "Add",
      description: "Adds two numbers.",
      input: z.object({ a: z.number(), b: z.number() }),
      output: z.object({ sum: z.number() }),
      handler: async ({ a, b }) => ({ text: `${a + b}`, structured: { sum: a + b } }),
    }),
    tool({
      name: "divide",
      description: "Divides.",
      input: z.object({ by: z.number() }),
      handler: async ({ by }) => {
        if (by === 0) throw new ToolError("Nothing divides by zero.");
        return `${1 / by}`;
      },
    }),
  ],
});

const open = [];
after(() => Promise.all(open.map((client) => client.close())));

/** Connects a client directly to the handler, without a network. */
async function connected({ Client, StreamableHTTPClientTransport }) {
  const handle = toFetchHandler(toolkit);
  const fetch = (url, init) => handle(new Request(url, init));
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL("http://toolkit.test/mcp"), { fetch }));
  open.push(client);
  return client;
}

const CLIENTS = {
  "@modelcontextprotocol/sdk": { Client, StreamableHTTPClientTransport },
  "@modelcontextprotocol/client": current,
};

for (const [name, sdk] of Object.entries(CLIENTS)) {
  test(`${name} lists the tools`, async () => {
    const client = await connected(sdk);

    const { tools } = await client.listTools();

    assert.deepEqual(tools.map((it) => [it.name, it.title]), [["sums__add", "Add"], ["sums__divide", undefined]]);
    assert.deepEqual(tools[0].annotations, { readOnlyHint: true, destructiveHint: false, openWorldHint: false });
    assert.deepEqual(Object.keys(tools[0].outputSchema.properties), ["sum"]);
  });

  test(`${name} calls a tool, and checks its structured content`, async () => {
    const client = await connected(sdk);
    // The client learns the output schema from the list.
    await client.listTools();

    const result = await client.callTool({ name: "sums__add", arguments: { a: 1, b: 2 } });

    assert.deepEqual(result.structuredContent, { sum: 3 });
    assert.deepEqual(result.content, [{ type: "text", text: "3" }]);
  });

  test(`${name} is told what failed`, async () => {
    const client = await connected(sdk);
    await client.listTools();
    const failure = async (name, args) => {
      const { isError, content } = await client.callTool({ name, arguments: args });
      assert.equal(isError, true);
      return JSON.parse(content[0].text);
    };

    assert.deepEqual(await failure("sums__divide", { by: 0 }), {
      ok: false,
      code: "TOOL_ERROR",
      error: "Nothing divides by zero.",
      retryable: false,
    });
    assert.equal((await failure("sums__add", { a: "1", b: 2 })).code, "INVALID_PARAMS");
    await assert.rejects(client.callTool({ name: "sums__multiply", arguments: {} }), { code: -32602 });
  });
}
