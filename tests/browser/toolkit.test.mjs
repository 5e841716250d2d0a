// The page of a toolkit: its forms, without scripts, with the keyboard, and with mistakes.

import assert from "node:assert/strict";

import { suite } from "./harness/suite.mjs";

const test = suite(["guest-hostile", "guest-probe"]);
const SETTINGS = "/ui/toolkits/hostile";
const SECRETS = "/ui/toolkits/probe";

test("the whole toolkit page works without scripts", async ({ visitor }) => {
  const ana = await visitor({ javaScriptEnabled: false });
  const { page } = ana;
  await ana.signIn("ana");
  await page.getByRole("link", { name: "Guest hostile" }).click();

  await page.getByLabel("language").fill("de");
  await page.getByLabel("limit").fill("12.5");
  await page.getByLabel("adult").selectOption("true");
  await page.getByLabel("order").selectOption("oldest");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Your settings are saved.").waitFor();
  await ana.goto(SETTINGS);
  const values = ["language", "limit", "adult", "order"].map((label) => page.getByLabel(label).inputValue());
  assert.deepEqual(await Promise.all(values), ["de", "12.5", "true", "oldest"]);

  await ana.goto(SECRETS);
  const secret = page.locator(".item", { hasText: "API_KEY" });
  await secret.getByLabel("Value of API_KEY").fill("0123456789");
  await secret.getByRole("button", { name: "Set", exact: true }).click();
  await page.getByText("The secret is set.").waitFor();
  assert.match(await secret.locator(".meta").innerText(), /^set \d/);
  await secret.getByRole("button", { name: "Unset" }).click();
  await page.getByText("The secret is gone.").waitFor();
  assert.equal(await secret.locator(".meta").innerText(), "not set");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Sign-in code").waitFor();
});

test("the whole toolkit page works with the keyboard alone", async ({ server, visitor }) => {
  const ben = await visitor();
  const { page } = ben;
  await ben.goto("/ui/");
  await tabTo(page, page.getByLabel("Name"));
  await page.keyboard.press("Control+A");
  await page.keyboard.type("ben");
  await page.keyboard.press("Tab");
  await page.keyboard.type(`${server.code}\n`);

  await page.waitForURL("**/ui/");
  await page.keyboard.press("Tab");
  assert.equal(await page.locator(":focus").innerText(), "Skip to content");
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("link", { name: "Guest hostile" }));
  await page.keyboard.press("Enter");
  await page.waitForURL(`**${SETTINGS}`);
  await tabTo(page, page.getByLabel("language"));
  await page.keyboard.type("fr");
  await page.keyboard.press("Tab");
  await page.keyboard.type("7\n");
  await page.getByRole("status").waitFor();
  assert.equal(await page.locator(":focus").innerText(), "Your settings are saved.");
  assert.equal(await page.getByLabel("limit").inputValue(), "7");

  await ben.goto(SECRETS);
  await tabTo(page, page.getByLabel("Value of API_KEY"));
  await page.keyboard.type("0123456789\n");
  await page.getByRole("status").waitFor();
  assert.match(await page.locator(":focus").innerText(), /^The secret is set\./);
  await tabTo(page, page.getByRole("button", { name: "Unset API_KEY" }));
  await page.keyboard.press("Space");
  await page.getByText("The secret is gone.").waitFor();
});

test("settings report every problem beside its field and keep what was typed", async ({ visitor }) => {
  const cai = await visitor();
  const { page } = cai;
  cai.expect(422);
  await cai.signIn("cai", SETTINGS);

  await page.getByLabel("language").fill("  <de> ");
  await page.getByLabel("limit").fill("many");
  // A choice that a later version of the toolkit has no more.
  await page.getByLabel("order").evaluate((select) => (select.options[1].value = "random"));
  await page.getByLabel("order").selectOption("random");
  await page.getByRole("button", { name: "Save" }).click();

  await page.getByRole("alert").waitFor();
  assert.equal(await page.locator(":focus").getAttribute("role"), "alert");
  assert.equal(await page.getByLabel("language").inputValue(), "  <de> ");
  assert.equal(await page.getByLabel("limit").inputValue(), "many");
  for (const [label, isWrong] of [["language", false], ["limit", true], ["order", true]]) {
    const field = page.getByLabel(label);
    assert.equal(await field.getAttribute("aria-invalid"), isWrong ? "true" : null, label);
    assert.equal((await borderOf(field)) !== (await borderOf(page.getByLabel("adult"))), isWrong, label);
    const help = page.locator(`#${await field.getAttribute("aria-describedby")}`);
    assert.equal(await help.locator(".problem").count(), isWrong ? 1 : 0, label);
  }

  await cai.goto(SETTINGS);
  assert.equal(await page.getByLabel("language").inputValue(), "");
});

const borderOf = (element) => element.evaluate((it) => getComputedStyle(it).borderColor);

/** Presses Tab until the element has the focus, which must be visible there. */
async function tabTo(page, element) {
  await element.waitFor();
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    if (await element.evaluate((it) => it === document.activeElement)) {
      assert.notEqual(await element.evaluate((it) => getComputedStyle(it).outlineStyle), "none");
      return;
    }
  }
  assert.fail(`Tab does not reach ${element}`);
}
