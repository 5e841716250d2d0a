// Every page, for the tests that look at all of them and for the pictures. A new page needs a line here.

import assert from "node:assert/strict";

/**
 * - `path`: of the page; for what `{…}` stands for see `open`.
 * - `html`: maximum size of its HTML in bytes, if not the usual 15.5 kB.
 * - `status`: of a page that is not 200.
 * - `prepare`: what a visitor who has opened the page does before it is looked at.
 * - `who`: the visitor: a `user` if not given; a `newcomer`, who has nothing yet; a `stranger`, who has not signed in; or
 *   an `operator`.
 */
export const PAGES = [
  { name: "sign-in", path: "/ui/signin", who: "stranger" },
  { name: "sign-in-refused", path: "/ui/signin", who: "stranger", status: 403, prepare: enterWrongCode },
  { name: "directory", path: "/ui/" },
  { name: "directory-empty", path: "/ui/?q=nothing-is-called-so" },
  { name: "toolkit", path: "/ui/toolkits/{toolkit}" },
  { name: "toolkit-refused", path: "/ui/toolkits/{toolkit}", status: 422, prepare: saveNonsense },
  { name: "toolkit-secrets", path: "/ui/toolkits/{secret}" },
  { name: "toolkit-secret-set", path: "/ui/toolkits/{secret}", prepare: setSecret },
  { name: "toolkit-waiting", path: "/ui/toolkits/signed-in", who: "operator" },
  { name: "consent", path: "/ui/toolkits/signed-in/consent", who: "operator" },
  { name: "consent-given", path: "/ui/toolkits/{toolkit}/consent" },
  { name: "tool", path: "/ui/toolkits/{toolkit}/tools/{tool}" },
  { name: "tool-as-json", path: "/ui/toolkits/{toolkit}/tools/{tool}?as=json" },
  { name: "tool-called", path: "/ui/toolkits/{toolkit}/tools/{tool}", prepare: run },
  { name: "log", path: "/ui/toolkits/{called}/log" },
  { name: "versions", path: "/ui/toolkits/{toolkit}/versions", who: "operator" },
  { name: "review", path: "/ui/operate", who: "operator", prepare: upload },
  { name: "operate", path: "/ui/operate", who: "operator" },
  { name: "overview", path: "/ui/operate/overview", who: "operator", html: 30_000 },
  { name: "overview-30-days", path: "/ui/operate/overview?days=30", who: "operator", html: 30_000 },
  { name: "audit", path: "/ui/operate/audit", who: "operator" },
  { name: "audit-filtered", path: "/ui/operate/audit?act=toolkit.deployed&toolkit={toolkit}", who: "operator" },
  { name: "audit-empty", path: "/ui/operate/audit?user=nobody", who: "operator" },
  { name: "deployed", path: "/ui/operate", who: "operator", prepare: uploadAndDeploy },
  { name: "comparison", path: "/ui/toolkits/greeter/versions", who: "operator", prepare: compare },
  { name: "rolled-back", path: "/ui/toolkits/greeter/versions", who: "operator", prepare: rollBack },
  { name: "audience", path: "/ui/toolkits/{toolkit}/audience", who: "operator" },
  { name: "audience-refused", path: "/ui/toolkits/greeter/audience", who: "operator", status: 422, prepare: shareNonsense },
  { name: "audience-shared", path: "/ui/toolkits/greeter/audience", who: "operator", prepare: share },
  { name: "quota-reached", path: "/ui/toolkits/greeter/tools/greet", prepare: runUntilRefused },
  { name: "documents-empty", path: "/ui/documents", who: "newcomer" },
  { name: "document-new", path: "/ui/documents/new" },
  { name: "document-refused", path: "/ui/documents/new", status: 422, prepare: addNothing },
  { name: "document", path: "/ui/documents/new", prepare: addDocument },
  { name: "documents", path: "/ui/documents" },
  { name: "search", path: "/ui/search" },
  { name: "search-results", path: "/ui/search?q=pricing", prepare: waitForResults },
  { name: "connect", path: "/ui/connect" },
  { name: "account", path: "/ui/account" },
  { name: "error", path: "/ui/toolkits/none", status: 404 },
  { name: "session-ended", path: "/ui/toolkits/{toolkit}", status: 401, prepare: saveWithoutSession },
];

/** The path of a page, with these ids. */
export const pathOf = (page, ids) => page.path.replace(/\{(\w+)\}/g, (_, name) => ids[name]);

/**
 * Opens a page as the visitor. `ids` are those of what it shows: `toolkit`, which has settings, its `tool`; `secret`, a
 * toolkit that has one; `called`, a toolkit that was called. `guest-greeter-v1` is deployed as well, and what `Server.deployFurther` deploys.
 */
export async function open(visitor, page, ids) {
  if (page.status) visitor.expect(page.status);
  const status = await visitor.goto(pathOf(page, ids));
  assert.equal(status, page.prepare ? 200 : (page.status ?? 200), page.name);
  await page.prepare?.(visitor);
}

/** Opens a profile for each kind of visitor to a page; `start` opens one that has not signed in. */
export async function visitors(start, name = "ana") {
  const [user, newcomer, stranger, operator] = [await start(), await start(), await start(), await start()];
  await user.signIn(name);
  await newcomer.signIn("newcomer");
  await operator.signIn("local");
  return { user, newcomer, stranger, operator };
}

async function enterWrongCode({ page }) {
  await page.getByLabel("Sign-in code").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
}

async function shareNonsense({ page }) {
  await page.getByLabel("Name").fill("sales");
  await page.getByLabel("Calls a minute").fill("many");
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByRole("alert").waitFor();
}

/** With everyone too, for one call a day: `runUntilRefused` comes next. */
async function share({ page }) {
  const [whom, name, tools] = [page.getByLabel("Whom"), page.getByLabel("Name"), page.getByLabel("Tools")];
  for (const fill of [
    async () => (await whom.selectOption("everyone"), await page.getByLabel("Calls a day").fill("1")),
    async () => (await name.fill("sales"), await page.getByLabel("Calls a minute").fill("60"), await page.getByLabel("Calls a day").fill("1000")),
    async () => (await name.fill("support"), await tools.selectOption({ index: 1 }), await page.getByLabel("each member").check()),
  ]) {
    await fill();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByRole("status").waitFor();
  }
}

async function saveNonsense({ page }) {
  const field = page.locator("#settings select").last();
  await field.evaluate((select) => (select.options[1].value = "nonsense"));
  await field.selectOption("nonsense");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
}

async function setSecret({ page }) {
  await page.locator("#secrets input[name=secret]").first().fill("0123456789abcdef");
  await page.locator("#secrets button").first().click();
  await page.getByRole("status").waitFor();
}

async function run({ page }) {
  const field = page.locator("#call input:not([type=hidden]), #call textarea").first();
  if (await field.count()) await field.fill("Lisbon");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("heading", { name: "Answer" }).waitFor();
}

async function runUntilRefused({ page }) {
  for (let calls = 0; calls < 2; calls += 1) await run({ page });
  await page.getByText("A call is possible again at").waitFor();
}

async function upload({ page, server }) {
  await page.getByLabel("Component").setInputFiles(server.component("guest-greeter-v2"));
  await page.getByRole("button", { name: "Upload" }).click();
  await page.getByRole("heading", { name: "Review", exact: false, level: 1 }).waitFor();
}

async function uploadAndDeploy(visitor) {
  await upload(visitor);
  await visitor.page.getByLabel("I have read what is new").check();
  await visitor.page.getByRole("button", { name: /^Deploy/ }).click();
  await visitor.page.getByRole("status").waitFor();
}

async function compare({ page }) {
  await page.getByRole("link", { name: /with the live version/ }).click();
  await page.getByRole("button", { name: /^Make/ }).waitFor();
}

/** Leaves the first version live, as it was. */
async function rollBack(visitor) {
  await compare(visitor);
  await visitor.page.getByLabel("I have read what is new").check();
  await visitor.page.getByRole("button", { name: /^Make/ }).click();
  await visitor.page.getByRole("status").waitFor();
}

async function addNothing({ page }) {
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("alert").waitFor();
}

async function addDocument({ page }) {
  await page.locator("#title").fill("Pricing");
  await page.locator("#text").fill("We agreed on the new prices: they apply from March, for new customers first.");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("status").waitFor();
}

/** Documents are found once they are indexed. */
async function waitForResults({ page }) {
  for (let tries = 0; tries < 100 && (await page.getByLabel("Results").count()) === 0; tries += 1) {
    await page.waitForTimeout(200);
    await page.reload();
  }
  await page.getByLabel("Results").waitFor();
}

async function saveWithoutSession({ context, page }) {
  const cookies = await context.cookies();
  await context.clearCookies();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
  await context.addCookies(cookies);
}
