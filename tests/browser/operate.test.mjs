// What operators do in a browser: review, deploy, go back.

import assert from "node:assert/strict";

import { suite } from "./harness/suite.mjs";

const test = suite(["guest-greeter-v1"]);

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with scripts" : "without scripts";
  test(`an upload is reviewed, goes live, and the version before comes back, ${how}`, async ({ server, visitor }) => {
    const local = await visitor({ javaScriptEnabled });
    const { page } = local;
    await local.signIn("local", "/ui/operate");

    await page.getByLabel("Component").setInputFiles(server.component("guest-greeter-v2"));
    await page.getByRole("button", { name: "Upload" }).click();
    await page.getByRole("heading", { name: /^Review/, level: 1 }).waitFor();
    assert.equal((await versions(server)).liveVersion, "1.0.0");
    await page.getByLabel("I have read what is new").check();
    await page.getByRole("button", { name: /^Deploy/ }).click();
    await page.getByRole("status").getByText("The version is live.").waitFor();
    const { liveVersion } = await versions(server);
    assert.notEqual(liveVersion, "1.0.0");

    await page.getByRole("link", { name: /^Compare 1\.0\.0/ }).click();
    await page.getByLabel("I have read what is new").check();
    await page.getByRole("button", { name: "Make 1.0.0 live" }).click();
    await page.getByRole("status").getByText("The version is live again.").waitFor();
    assert.equal((await versions(server)).liveVersion, "1.0.0");
  });
}

const versions = async (server) => JSON.parse(await server.command("toolkit", "show", "greeter", "--json"));
