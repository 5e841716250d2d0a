// Signs in to a Kitbag server, given only its URL, with a real MCP client, and calls a tool before and after
// its access token expires:
//
//   node sign-in.mjs current|older URL TOOL ARGUMENTS
//
// `current` and `older` are as in call.mjs. The SDK does discovery, registration, PKCE, tokens and renewal.
// Prints the page to open on standard error, waits for the browser's redirect, and at the end prints one JSON
// object: { protocolVersion, scope, reply, again }.

import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { Client as CurrentClient, StreamableHTTPClientTransport as CurrentTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { listen } from "./callback.mjs";

const [era, url, tool, args = "{}"] = process.argv.slice(2);
const identity = { name: "kitbag-client", version: "1.0.0" };

const eras = {
  current: {
    client: () => new CurrentClient(identity, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
    transport: (options) => new CurrentTransport(new URL(url), options),
    // This SDK checks the issuer of the authorization response, and needs all its parameters.
    finish: (transport, answer) => transport.finishAuth(answer),
  },
  older: {
    client: () => new OlderClient(identity),
    transport: (options) => new OlderTransport(new URL(url), options),
    finish: (transport, answer) => transport.finishAuth(answer.get("code")),
  },
};
const sdk = eras[era];
if (!sdk || !tool) {
  console.error("usage: node sign-in.mjs current|older URL TOOL ARGUMENTS");
  process.exit(2);
}

// What a client stores between runs.
const callback = await listen();
const kept = {};
const authProvider = {
  redirectUrl: callback.redirectUrl,
  clientMetadata: {
    client_name: "Kitbag client",
    redirect_uris: [callback.redirectUrl],
    // Without this, a strict provider assumes that the client uses no refresh tokens (RFC 7591, section 2).
    grant_types: ["authorization_code", "refresh_token"],
  },
  state: () => (kept.state = randomUUID()),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  saveDiscoveryState: (discovered) => void (kept.discovered = discovered),
  discoveryState: () => kept.discovered,
  redirectToAuthorization: (page) => void (kept.page = page),
};

async function connect() {
  const [client, transport] = [sdk.client(), sdk.transport({ authProvider })];
  const outcome = await client.connect(transport).then(
    () => "connected",
    (error) => {
      if (!kept.page) throw error;
      return "asked to sign in";
    },
  );
  return { client, transport, outcome };
}

const first = await connect();
if (first.outcome !== "asked to sign in") throw new Error("the server let a client in without a token");
console.error(`open ${kept.page}`);
const answer = await callback.answer;
if (answer.get("state") !== kept.state) throw new Error("the answer is to another question");
await sdk.finish(first.transport, answer);

const { client, transport } = await connect();
const call = () => client.callTool({ name: tool, arguments: JSON.parse(args) });
const reply = await call();
const { expires_in, scope } = kept.tokens;
await setTimeout((expires_in + 1) * 1000);
const again = await call();

// The older client learns the version in its handshake and keeps it in the transport.
const protocolVersion = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
console.log(JSON.stringify({ protocolVersion, scope, reply, again }));
await client.close();
callback.close();
