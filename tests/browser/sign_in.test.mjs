// Signing in and out, and forms that are sent without a session.

import assert from "node:assert/strict";

import { suite } from "./harness/suite.mjs";

const test = suite(["guest-hostile"]);
const TOOLKIT = "/ui/toolkits/hostile";

test("a person signs in once and comes back to where they were", async ({ server, visitor }) => {
  const ana = await visitor();
  const { page } = ana;
  ana.expect(403);

  await ana.goto("/ui/?q=hostile");
  assert.equal(new URL(page.url()).pathname, "/ui/signin");
  await page.getByLabel("Name").fill("ana");
  await page.getByLabel("Sign-in code").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  assert.equal(await page.locator(":focus").getAttribute("role"), "alert");
  assert.equal(await page.getByLabel("Name").inputValue(), "ana");
  assert.equal(await page.getByLabel("Sign-in code").inputValue(), "");
  await ana.enter("ana");
  assert.equal(ana.path(), "/ui/?q=hostile");

  const tab = await ana.context.newPage();
  await tab.goto(TOOLKIT);
  assert.equal(await tab.getByRole("heading", { level: 1 }).innerText(), "Guest hostile");
  await tab.getByRole("button", { name: "Sign out" }).click();
  await tab.getByLabel("Sign-in code").waitFor();
  await page.reload();
  assert.equal(new URL(page.url()).pathname, "/ui/signin");

  const cookies = await ana.context.cookies(server.origin);
  assert.deepEqual(cookies, []);
});

test("signing in leads to no other server", async ({ visitor }) => {
  const ana = await visitor();

  await ana.signIn("ana", "/ui/signin?to=%2F%2Fevil.example%2F");

  assert.equal(ana.path(), "/ui/");
});

test("a form sent after the session ended is not lost", async ({ visitor }) => {
  const ben = await visitor();
  const { page } = ben;
  ben.expect(401);
  await ben.signIn("ben", TOOLKIT);
  const other = await ben.context.newPage();
  await other.goto("/ui/");
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.getByLabel("Sign-in code").waitFor();

  await page.locator("#setting-language").fill("näher & <weiter>");
  await page.locator("#settings").getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
  const opening = ben.context.waitForEvent("page");
  await page.getByRole("link", { name: "Sign in" }).click();
  const tab = await opening;
  await ben.enter("ben", tab);
  await page.getByRole("button", { name: "Send again" }).click();

  await page.getByText("Your settings are saved.").waitFor();
  assert.equal(await page.locator("#setting-language").inputValue(), "näher & <weiter>");
});
