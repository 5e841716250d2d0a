// Lists the tools of a Kitbag server and calls one, with a real MCP client:
//
//   KITBAG_TOKEN=… node call.mjs current|older URL TOOL ARGUMENTS
//
// `current` is the SDK's client for revision 2026-07-28, `older` the one for 2025-11-25.
// Prints one JSON object: { protocolVersion, tools, request, reply }; a refusal is { …, error }.

import { Client as CurrentClient, StreamableHTTPClientTransport as CurrentTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [era, url, tool, args] = process.argv.slice(2);
const identity = { name: "kitbag-client", version: "1.0.0" };
const authorized = { requestInit: { headers: { authorization: `Bearer ${process.env.KITBAG_TOKEN}` } } };

const eras = {
  current: () => [
    new CurrentClient(identity, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
    new CurrentTransport(new URL(url), authorized),
  ],
  older: () => [new OlderClient(identity), new OlderTransport(new URL(url), authorized)],
};
if (!eras[era] || !tool) {
  console.error("usage: KITBAG_TOKEN=… node call.mjs current|older URL TOOL ARGUMENTS");
  process.exit(2);
}

const [client, transport] = eras[era]();
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
