// Values of secrets: they go from the form to the server, and nowhere else.

import assert from "node:assert/strict";

import { suite } from "./harness/suite.mjs";

const test = suite(["guest-probe"]);
const TOOLKIT = "/ui/toolkits/probe";
const CANARY = "canary-5b1f0c";

test("a secret never appears in html, url or history", async ({ visitor }) => {
  const ana = await visitor();
  const { page } = ana;
  ana.expect(401, 404, 422);
  await ana.signIn("ana", TOOLKIT);

  const value = page.getByLabel("Value of API_KEY");
  await value.fill(CANARY);
  await value.press("Enter");
  await page.getByText("The secret is set.").waitFor();
  await value.evaluate((input) => input.removeAttribute("maxlength"));
  await value.fill(CANARY.repeat(6000));
  await value.press("Enter");
  await page.getByRole("alert").waitFor();
  assert.equal(await value.inputValue(), "");
  for (const path of ["/ui/", `/ui/?q=${TOOLKIT}`, "/ui/nothing", TOOLKIT]) await ana.goto(path);

  await value.fill(`${CANARY}-typed`);
  const other = await ana.context.newPage();
  await other.goto("/ui/");
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.getByLabel("Sign-in code").waitFor();
  await value.press("Enter");
  await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
  assert.ok(!(await page.content()).includes(CANARY));

  await page.goBack();
  await page.getByLabel("Sign-in code").waitFor();
  assert.ok(!(await page.content()).includes(CANARY));
  await assertNowhere(ana);
});

test("nothing that the signed-in saw comes back after signing out", async ({ visitor }) => {
  const ben = await visitor();
  const { page } = ben;
  await ben.signIn("ben", TOOLKIT);
  await page.getByLabel("Value of API_KEY").fill(CANARY);

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Sign-in code").waitFor();
  await page.goBack();

  await page.getByLabel("Sign-in code").waitFor();
  assert.equal(await page.getByLabel("Value of API_KEY").count(), 0);
  await assertNowhere(ben);
});

/** Fails if the canary is in a response, a URL, a cookie or the browser's storage. */
async function assertNowhere({ context, page, requests, responses }) {
  // Assets are the same for everybody, and cached ones have no text.
  const texts = responses.filter(({ url }) => !new URL(url).pathname.startsWith("/ui/assets/"));
  assert.ok(texts.length > 0);
  for (const { url, text } of texts) assert.equal((await text)?.includes(CANARY), false, url);
  for (const url of requests) assert.ok(!url.includes(CANARY), url);
  assert.ok(!JSON.stringify(await context.storageState()).includes(CANARY));
  const kept = await page.evaluate(() => JSON.stringify([history.state, { ...sessionStorage }, window.name]));
  assert.ok(!kept.includes(CANARY));
}
