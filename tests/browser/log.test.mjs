// Following a log: what is shown, and which connections it holds.

import assert from "node:assert/strict";

import { suite } from "./harness/suite.mjs";

const test = suite(["guest-hostile"]);
const LOG = "/ui/toolkits/hostile/log";
/** A browser opens six connections to a server. */
const TABS = 10;

test("a call shows as soon as it has ended, and nothing while the log is paused", async ({ server, visitor }) => {
  const local = await visitor();
  const { page } = local;
  await local.signIn("local", LOG);
  const status = page.locator("#live").getByRole("status");
  await status.getByText("Live.").waitFor();

  await server.call("hostile__log_ok", {});
  await page.locator("#log > li").waitFor();

  await page.getByRole("button", { name: "Pause" }).click();
  await status.getByText("Paused.").waitFor();
  await server.call("hostile__log_ok", {});
  await page.waitForTimeout(500);
  assert.equal(await page.locator("#log > li").count(), 1);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator("#log > li").nth(1).waitFor();
});

test("hidden logs let their connections go: ten tabs still open an eleventh page", async ({ visitor }) => {
  const ana = await visitor();
  await ana.signIn("ana");
  const tabs = [];
  for (let number = 0; number < TABS; number += 1) {
    const tab = await ana.context.newPage();
    await tab.goto(LOG);
    await tab.locator("#live").getByText("Live.").waitFor();
    await hide(tab);
    await tab.locator("#live").getByText("Paused.").waitFor();
    tabs.push(tab);
  }

  await ana.goto("/ui/");
  assert.equal(await ana.page.getByRole("heading", { level: 1 }).innerText(), "Toolkits");

  await hide(tabs[0], false);
  await tabs[0].locator("#live").getByText("Live.").waitFor();
});

/** Tells a page that its tab was hidden, or shown: in a test, all tabs are visible. */
function hide(tab, hidden = true) {
  return tab.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}
