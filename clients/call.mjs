// Lists the tools of a Kitbag server and calls one, with a real MCP client:
//
//   KITBAG_TOKEN=… node call.mjs current|older URL TOOL ARGUMENTS
//
// `current` is the SDK's client for revision 2026-07-28, `older` the one for 2025-11-25.
// Prints one JSON object: { protocolVersion, tools, request, reply }; a refusal is { …, error }.

import { clientOf, exitWithUsage } from "./connection.mjs";

const [era, url, tool, args] = process.argv.slice(2);
if (!["current", "older"].includes(era) || !tool) exitWithUsage("call.mjs current|older URL TOOL ARGUMENTS");

const [client, transport] = clientOf(era, url);
await client.connect(transport);
const { tools } = await client.listTools();
const request = { name: tool, arguments: JSON.parse(args ?? "{}") };
const outcome = await client.callTool(request).then(
  (reply) => ({ reply }),
  (error) => ({ error: { code: error.code, message: error.message } }),
);
// The older client learns the version in its handshake and keeps it in the transport.
const protocolVersion = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
console.log(JSON.stringify({ protocolVersion, tools, request, ...outcome }));
await client.close();
