// A real OpenID provider for one test: oidc-provider, as an operator would configure it for Kitbag.
//
//   node provider.mjs ISSUER RESOURCE ACCESS_TOKEN_SECONDS
//
// Listens on a free port of 127.0.0.1 and prints it. ISSUER is the URL under which it is reached,
// RESOURCE the only resource that it issues tokens for (RFC 8707): JWTs of the type at+jwt (RFC 9068).
// Clients register dynamically; a user signs in by name, on a page with one form. Each line of standard input is a JSON object
// with the groups of users, which tokens name from then on (claim `groups`).

import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider, { errors } from "oidc-provider";

import { interact } from "./interaction.mjs";

const [issuer, resource, accessTokenSeconds] = process.argv.slice(2);
const SCOPE = "profile email offline_access";

let groups = {};
createInterface({ input: process.stdin }).on("line", (line) => {
  groups = JSON.parse(line);
  console.log("groups are set");
});

const provider = new Provider(issuer, {
  clients: [],
  scopes: ["openid", "offline_access", "profile", "email"],
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    backchannelLogout: { enabled: true },
    rpInitiatedLogout: {
      logoutSource(context, form) {
        context.body = form.replace('<form id="op.logoutForm"', "<form");
      },
    },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(_, indicator) {
        if (indicator !== resource) throw new errors.InvalidTarget();
        return { scope: SCOPE, audience: resource, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } };
      },
      // Clients repeat the resource in the token request, or leave it out.
      useGrantedResource: () => true,
    },
  },
  // Its own one refuses addresses of loopback, where this server is told of logouts.
  fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }),
  responseTypes: ["code"],
  rotateRefreshToken: true,
  ttl: { AccessToken: Number(accessTokenSeconds), RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, IdToken: 60 },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  extraTokenClaims: (_, token) => ({ groups: groups[token.accountId] ?? [] }),
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  // Clients are public: programs on a user's machine that listen on loopback, and pages of any origin.
  clientDefaults: { token_endpoint_auth_method: "none" },
  clientBasedCORS: () => true,
});

const oidc = provider.callback();
const server = createServer((request, response) => {
  if (!request.url.startsWith("/interaction/")) return oidc(request, response);
  return interact(provider, request, response, resource).catch((error) => {
    console.error(error);
    response.writeHead(400).end(error.message);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
