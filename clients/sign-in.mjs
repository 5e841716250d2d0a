// Signs in to a Kitbag server in local mode from nothing but its URL, with a real MCP client, and
// calls a tool before and after its tokens are renewed:
//
//   node sign-in.mjs current|older URL TOOL ARGUMENTS [USER]
//
// `current` and `older` are as in call.mjs. Discovery, registration, PKCE, tokens and renewal are the
// SDK's own; this file is the person with a browser, who reads the consent page and presses Allow.
// Prints one JSON object: { protocolVersion, client, consent, scope, reply, renewed, spent, requests }.

import { randomUUID } from "node:crypto";
import { Client as CurrentClient, StreamableHTTPClientTransport as CurrentTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [era, url, tool, args = "{}", user] = process.argv.slice(2);
const identity = { name: "kitbag-client", version: "1.0.0" };
const redirectUrl = "http://127.0.0.1:33418/callback";

const eras = {
  current: {
    client: () => new CurrentClient(identity, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
    transport: (options) => new CurrentTransport(new URL(url), options),
    // This SDK checks the issuer of the answer, and wants all of its parameters.
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
  console.error("usage: node sign-in.mjs current|older URL TOOL ARGUMENTS [USER]");
  process.exit(2);
}

// What a client keeps between its runs.
const kept = {};
const authProvider = {
  redirectUrl,
  clientMetadata: { client_name: "Kitbag client", redirect_uris: [redirectUrl] },
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

const requests = [];
async function recordingFetch(input, init) {
  const response = await fetch(input, init);
  const { pathname } = new URL(input.url ?? input);
  requests.push(`${init?.method ?? "GET"} ${pathname} → ${response.status}`);
  return response;
}

async function connect() {
  const [client, transport] = [sdk.client(), sdk.transport({ authProvider, fetch: recordingFetch })];
  const outcome = await client.connect(transport).then(
    () => "connected",
    (error) => {
      if (!kept.page) throw error;
      return "asked to sign in";
    },
  );
  return { client, transport, outcome };
}

// The browser: opens the page, sends its form, and is sent back to the client.
async function consent(page) {
  const html = await (await recordingFetch(page)).text();
  const text = (pattern) => html.match(pattern)?.[1];
  const form = new URLSearchParams({
    request_id: text(/name="request_id" value="([^"]+)"/),
    user: user ?? text(/name="user" value="([^"]+)"/),
    decision: "allow",
  });
  const action = new URL(text(/<form method="post" action="([^"]+)"/), page);
  const response = await recordingFetch(action, { method: "POST", body: form, redirect: "manual" });
  const back = new URL(response.headers.get("location"));
  if (`${back.origin}${back.pathname}` !== redirectUrl || back.searchParams.get("state") !== kept.state) {
    throw new Error(`sent back to ${back}`);
  }
  return { shown: { client: text(/<bdi>(.*?)<\/bdi>/), user: form.get("user") }, answer: back.searchParams };
}

const first = await connect();
if (first.outcome !== "asked to sign in") throw new Error("the server let a client in without a token");
const { shown, answer } = await consent(kept.page);
await sdk.finish(first.transport, answer);

const { client, transport } = await connect();
const call = () => client.callTool({ name: tool, arguments: JSON.parse(args) });
const reply = await call();

// An access token that the server no longer takes: the SDK renews it and calls again.
const { refresh_token: old, scope } = kept.tokens;
kept.tokens = { ...kept.tokens, access_token: "expired" };
await call();
const renewed = kept.tokens.refresh_token !== old && kept.tokens.access_token !== "expired";

// Whoever comes with the old refresh token ends the sign-in for everybody.
const refresh = async (refresh_token) => {
  const body = new URLSearchParams({ grant_type: "refresh_token", client_id: kept.client.client_id, refresh_token });
  const response = await recordingFetch(new URL("/oauth/token", url), { method: "POST", body });
  return { status: response.status, error: (await response.json()).error };
};
const spent = { old: await refresh(old), newest: await refresh(kept.tokens.refresh_token) };

// The older client learns the version in its handshake and keeps it in the transport.
const protocolVersion = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
const { client_id, token_endpoint_auth_method } = kept.client;
console.log(
  JSON.stringify({
    protocolVersion,
    client: { client_id, token_endpoint_auth_method },
    consent: shown,
    scope,
    reply,
    renewed,
    spent,
    requests,
  }),
);
await client.close();
