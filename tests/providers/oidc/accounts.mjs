// A real OpenID provider at which users have accounts that they connect to a toolkit: oidc-provider, with refresh tokens that
// are rotated. Its userinfo endpoint `/me` is the API.
//
//   node accounts.mjs PORT REDIRECT_URI ACCESS_TOKEN_SECONDS
//
// Prints a line for each token request that it has carried out, `token GRANT_TYPE STATUS`, and for each revoked grant. After `hold` on standard input,
// answers of the token endpoint are kept back: the provider has rotated the token, and nobody learns the new one.

import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

import { interact } from "./interaction.mjs";

const [port, redirectUri, accessTokenSeconds] = process.argv.slice(2);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "client-of-tests",
      client_secret: "a-clients-5ecret",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "client_secret_basic",
    },
  ],
  scopes: ["openid", "offline_access"],
  features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
  pkce: { required: () => true },
  responseTypes: ["code"],
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  ttl: { AccessToken: Number(accessTokenSeconds), RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, IdToken: 60 },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
});

let holds = false;
createInterface({ input: process.stdin }).on("line", (line) => {
  holds = line === "hold";
  console.log(line);
});
provider.on("grant.revoked", () => console.log("revoked"));
provider.on("grant.success", ({ oidc }) => console.log(`token ${oidc.params.grant_type} 200`));
provider.on("grant.error", ({ oidc }, error) => console.log(`token ${oidc.params?.grant_type} ${error.status}`));

const oidc = provider.callback();
const server = createServer((request, response) => {
  if (request.url.startsWith("/interaction/")) {
    return interact(provider, request, response).catch((error) => {
      console.error(error);
      response.writeHead(400).end(error.message);
    });
  }
  if (holds && request.url.startsWith("/token")) response.end = () => response;
  return oidc(request, response);
});
server.listen(Number(port), "127.0.0.1", () => console.log("ready"));
