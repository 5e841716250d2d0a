// Calls a tool of a Kitbag server with a real MCP client that supports URL elicitation:
//
//   KITBAG_TOKEN=… node elicit.mjs current|older URL TOOL
//
// Prints one JSON object per line: { link, message } when the server asks the client to open a page, and
// { reply } at the end. The older client repeats its call after it reads a line from standard input, which
// says that the person has finished with the page; the current one repeats it itself, and the server waits.

import { createInterface } from "node:readline/promises";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { clientOf, exitWithUsage } from "./connection.mjs";

const [era, url, tool] = process.argv.slice(2);
if (!["current", "older"].includes(era) || !tool) exitWithUsage("elicit.mjs current|older URL TOOL");

const print = (object) => console.log(JSON.stringify(object));
const show = ({ url, message }) => print({ link: url, message });
const call = () => client.callTool({ name: tool, arguments: {} });

const [client, transport] = clientOf(era, url, { capabilities: { elicitation: { url: {} } } });
if (era === "current") {
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    show(params);
    return { action: "accept" };
  });
}
await client.connect(transport);
const reply = await call().catch(async (error) => {
  if (!(error instanceof UrlElicitationRequiredError)) throw error;
  error.elicitations.forEach(show);
  const person = createInterface({ input: process.stdin });
  await person.question("");
  person.close();
  return call();
});
print({ reply });
await client.close();
