// The MCP TypeScript SDK's client for either revision, for a Kitbag server that accepts KITBAG_TOKEN:
// `current` speaks 2026-07-28, `older` 2025-11-25.

import { Client as CurrentClient, StreamableHTTPClientTransport as CurrentTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const identity = { name: "kitbag-client", version: "1.0.0" };

/** Creates a client and its transport, not connected yet; `undefined` for any other era. */
export function clientOf(era, url, options = {}) {
  const authorized = { requestInit: { headers: { authorization: `Bearer ${process.env.KITBAG_TOKEN}` } } };
  switch (era) {
    case "current": {
      const pinned = { ...options, versionNegotiation: { mode: { pin: "2026-07-28" } } };
      return [new CurrentClient(identity, pinned), new CurrentTransport(new URL(url), authorized)];
    }
    case "older":
      return [new OlderClient(identity, options), new OlderTransport(new URL(url), authorized)];
  }
}

/** Prints the usage of a program, and exits. */
export function exitWithUsage(usage) {
  console.error(`usage: KITBAG_TOKEN=… node ${usage}`);
  process.exit(2);
}
