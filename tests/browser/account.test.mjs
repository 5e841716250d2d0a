// A person connects an account at a real provider, whose access tokens expire after two seconds.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { suite } from "./harness/suite.mjs";

const test = suite(["guest-account"], ["--allow-private-ranges", "127.0.0.0/8"]);
const PORT = 18997;
const PROVIDER = `http://127.0.0.1:${PORT}`;
const TOOLKIT = "/ui/toolkits/account";
const LIFETIME = 2;

test("an account is connected, used, renewed and ended", async ({ server, visitor }) => {
  const provider = await startProvider(`${server.origin}${TOOLKIT}/auth/callback`);
  try {
    const local = await visitor();
    const { page } = local;
    local.expectOrigin(PROVIDER);
    // Of the provider's icon.
    local.expect(404);
    await local.signIn("local", TOOLKIT);
    await page.getByText("CLIENT_ID and CLIENT_SECRET must be set").waitFor();
    for (const [name, value] of [["CLIENT_ID", "client-of-tests"], ["CLIENT_SECRET", "a-clients-5ecret"]]) {
      await server.commandWith(value, "secret", "set", "account", name, "--from-stdin", "--for-everyone");
    }
    await local.goto(TOOLKIT);
    await page.getByText(`${server.origin}${TOOLKIT}/auth/callback`).waitFor();

    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.locator("input[name=user]").fill("local-there");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("status").getByText("Your account is connected").waitFor();
    assert.equal(local.path(), `${TOOLKIT}?done=account-connected`);
    await page.getByText("It may: openid offline_access").waitFor();
    const me = () => server.call("account__fetch", { url: `${PROVIDER}/me` });
    assert.match(await me(), /local-there/);

    await sleep(LIFETIME * 1000 + 100);
    assert.match(await me(), /local-there/);
    assert.equal(provider.tokens[0], "authorization_code 200");
    assert.ok(provider.tokens.includes("refresh_token 200"), provider.tokens.join());

    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("status").getByText("no longer connected").waitFor();
    assert.match(await me(), /none is connected.*sign-in account/);
  } finally {
    provider.process.kill();
  }
});

test("who refuses is told so, and nothing is connected", async ({ server, visitor }) => {
  const local = await visitor();
  const { page } = local;
  local.expect(403, 400);
  await local.signIn("local", TOOLKIT);
  await page.route(`${PROVIDER}/**`, (route) => {
    const state = new URL(route.request().url()).searchParams.get("state");
    const back = `${server.origin}${TOOLKIT}/auth/callback?error=access_denied&state=${encodeURIComponent(state)}`;
    return route.fulfill({ status: 303, headers: { location: back } });
  });
  local.expectOrigin(PROVIDER);

  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByRole("alert").getByText("access_denied").waitFor();
  await page.reload();
  await page.getByRole("alert").getByText("has been used").waitFor();
  await page.getByText("Not connected.").waitFor();
});

/** Starts oidc-provider; `tokens` are the token requests that it has carried out. */
async function startProvider(redirectUri) {
  const folder = resolve(import.meta.dirname, "../providers/oidc");
  const stdio = ["pipe", "pipe", "inherit"];
  const process = spawn("node", ["accounts.mjs", String(PORT), redirectUri, String(LIFETIME)], { cwd: folder, stdio });
  const tokens = [];
  const lines = createInterface(process.stdout);
  await once(lines, "line");
  lines.on("line", (line) => tokens.push(line.replace("token ", "")));
  return { process, tokens };
}
