// The same tool as a plain MCP server: the official SDK on Node.js, in one process, as it is usually run.
// No sandbox, no sign-in.
import { createServer } from "node:http";

import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

import { countsOf, summaryOf } from "../count/counts.js";

const count = z.int().min(0);
const inputSchema = z.object({ text: z.string().describe("The text to count.") });
const outputSchema = z.object({
  words: count,
  characters: count,
  characters_without_spaces: count,
  bytes: count,
  lines: count,
  sentences: count,
  paragraphs: count,
});

function makeServer() {
  const server = new McpServer({ name: "count", version: "1.0.0" });
  server.registerTool(
    "text__count",
    {
      title: "Count words",
      description: "Counts the words, characters, lines, sentences and paragraphs of a text.",
      inputSchema,
      outputSchema,
      annotations: { readOnlyHint: true, idempotentHint: true },
    },
    async ({ text }) => {
      const counts = countsOf(text);
      return { content: [{ type: "text", text: summaryOf(counts) }], structuredContent: counts };
    },
  );
  return server;
}

const isOurs = localhostHostValidation();
const isAllowed = localhostOriginValidation();
const handle = toNodeHandler(createMcpHandler(makeServer));
const server = createServer((request, response) => {
  if (isOurs(request, response) && isAllowed(request, response)) handle(request, response);
});
server.listen(0, "127.0.0.1", () => console.log(`the Node server serves http://127.0.0.1:${server.address().port}`));
