// What authors write stays text: a toolkit with markup and invisible characters in its every text.

import assert from "node:assert/strict";

import { suite } from "./harness/suite.mjs";

const test = suite(["guest-misleading"]);
const TOOLKIT = "/ui/toolkits/misleading";
/** C0 and C1 controls but for line ends, bidirectional controls, and characters that nobody sees. */
const HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e0fff}]/u;

test("names and descriptions of a hostile toolkit stay text", async ({ visitor }) => {
  const ana = await visitor();
  ana.expect(422);
  await ana.signIn("ana");
  await assertText(ana.page, "Toolkits · Kitbag");

  await ana.goto(TOOLKIT);
  await assertText(ana.page);

  await ana.page.locator("#setting-number").fill("<b>many</b>");
  await ana.page.getByRole("button", { name: "Save" }).click();
  await ana.page.getByRole("alert").waitFor();
  await assertText(ana.page);
  assert.equal(await ana.page.locator("#setting-number").inputValue(), "<b>many</b>");
});

test("results, errors and log lines of a hostile toolkit stay text", async ({ visitor }) => {
  const cai = await visitor();
  const { page } = cai;
  await cai.signIn("cai");

  for (const tool of ["say", "fail"]) {
    await cai.goto(`${TOOLKIT}/tools/${tool}`);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("heading", { name: "Answer" }).waitFor();
    await assertText(page, `misleading__${tool} · Kitbag`);
  }

  // What has happened, and what happens while the page is open: a script of it shows that.
  await cai.goto(`${TOOLKIT}/log`);
  const calls = page.locator("#log > li");
  const other = await cai.context.newPage();
  await other.goto(`${TOOLKIT}/tools/say`);
  await page.locator("#live").getByText("Live").waitFor();
  await other.getByRole("button", { name: "Run" }).click();
  await calls.nth(2).waitFor();
  for (const call of await calls.all()) await call.locator("summary").click();
  await assertText(page);
});

test("what a visitor puts into an address stays text", async ({ visitor }) => {
  const ben = await visitor();
  ben.expect(404);
  await ben.signIn("ben");

  const typed = "\"><script>document.title='run'</script><img src=//evil.example/x>";
  for (const path of [`/ui/?q=${encodeURIComponent(typed)}`, `/ui/toolkits/${encodeURIComponent(typed)}`]) {
    await ben.goto(path);
    assert.equal(await ben.page.locator("script, main img").count(), 0, path);
    assert.match(await ben.page.title(), / · Kitbag$/);
  }
});

/** Asserts that the page shows the toolkit's markup as such, hidden characters as codes, and has none of its elements. */
async function assertText(page, title) {
  const made = page.locator("script:not([type=module]), style, main img, iframe, main [onerror], a[href^='javascript:']");
  assert.equal(await made.count(), 0);
  const shown = await page.locator("main").innerText();
  assert.match(shown, /<script>document\.title='run'<\/script>/);
  assert.match(shown, /\{\{ 7 \* 7 \}\}&lt;&#60;/);
  assert.match(shown, /\\u\{202e\}elbatsurt\\u\{202c\}/);
  const texts = await page.evaluate(() => {
    const attributes = [...document.querySelectorAll("*")].flatMap((it) => [...it.attributes]);
    const shown = attributes.filter(({ name }) => /^(aria-label|placeholder|title|alt)$/.test(name));
    return [document.title, document.body.textContent, ...shown.map(({ value }) => value)];
  });
  for (const text of texts) assert.equal(HIDDEN.exec(text)?.[0], undefined);
  if (title) assert.equal(texts[0], title);
  else assert.match(texts[0], /Evil .*<script>.* · Kitbag$/);
}
