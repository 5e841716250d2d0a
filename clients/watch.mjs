// Watches a Kitbag server with a real MCP client, until its list of tools changes:
//
//   KITBAG_TOKEN=… node watch.mjs current|older URL TOOL
//
// First calls TOOL with a progress listener. Prints one JSON object per line: { progress, text }, then
// { tools } once the client has been notified of a change.

import { clientOf, exitWithUsage } from "./connection.mjs";

const [era, url, tool] = process.argv.slice(2);
if (!["current", "older"].includes(era) || !tool) exitWithUsage("watch.mjs current|older URL TOOL");

const print = (object) => console.log(JSON.stringify(object));

const changed = deferred();
const onChanged = (error, tools) => (error ? changed.reject(error) : changed.resolve(tools));
const options = { listChanged: { tools: { onChanged } } };
const [client, transport] = clientOf(era, url, options);
await client.connect(transport);

const progress = [];
const onprogress = (report) => progress.push(report.progress);
const call = { name: tool, arguments: {} };
const result =
  era === "current" ? await client.callTool(call, { onprogress }) : await client.callTool(call, undefined, { onprogress });
print({ progress, text: result.content[0].text });

const tools = await changed.promise;
print({ tools: tools.map(({ name }) => name) });
await client.close();

function deferred() {
  const it = {};
  it.promise = new Promise((resolve, reject) => Object.assign(it, { resolve, reject }));
  return it;
}
