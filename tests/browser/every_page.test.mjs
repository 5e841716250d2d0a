// What holds of every page: for people who cannot see well or have a narrow screen, and what a page may cost.

import assert from "node:assert/strict";

import axe from "axe-core";

import { suite } from "./harness/suite.mjs";
import { PAGES, open, visitors } from "./pages.mjs";

const test = suite(
  ["guest-hostile", "guest-probe", "guest-misleading", "guest-greeter-v1"],
  ["--consent", "users"],
  (server) => server.deployFurther(),
);
const IDS = { toolkit: "hostile", tool: "log_ok", secret: "probe", called: "hostile" };
const MISLEADING = { name: "misleading", path: "/ui/toolkits/misleading" };

/** WCAG 2.2 AA, and what else axe finds good. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** Minimum height and width of what is pressed, in CSS pixels (WCAG 2.2, 2.5.5). Links in a sentence are smaller. */
const TARGET = 44;

const KB = 1000;
/** Maximum sizes in bytes, as sent before compression. */
const LIMITS = { html: 15.5 * KB, directoryOf100: 62 * KB, style: 16 * KB, scripts: 4 * KB, allScripts: 12 * KB };
/** Maximum numbers of requests for a page: of a browser that has not been here, and of one that has. */
const REQUESTS = { cold: 3, warm: 1 };

for (const colorScheme of ["light", "dark"]) {
  test(`no page has an axe violation in ${colorScheme} colours`, async ({ visitor }) => {
    await forEachPage(visitor, { colorScheme }, async (page, name) => {
      await page.evaluate(axe.source);
      const options = { runOnly: RULES, resultTypes: ["violations"] };
      const { violations } = await page.evaluate((options) => globalThis.axe.run(document, options), options);
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
      assert.deepEqual(found, [], name);
    });
  });
}

test("no page scrolls sideways at 320 pixels, and what is pressed is large enough", async ({ visitor }) => {
  await forEachPage(visitor, { viewport: { width: 320, height: 640 } }, async (page, name) => {
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320, name);
    const small = await page.locator("button, .button, nav a, summary, select, input, textarea").evaluateAll(
      (all, least) =>
        all
          .filter((it) => it.checkVisibility() && !["hidden", "checkbox", "radio"].includes(it.type))
          .map((it) => [it.outerHTML, it.getBoundingClientRect()])
          .filter(([, { width, height }]) => Math.min(width, height) < least)
          .map(([html, { width, height }]) => `${html}: ${width} × ${height}`),
      TARGET,
    );
    assert.deepEqual(small, [], name);
  });
});

test("budgets hold", async ({ visitor }) => {
  const scripts = new Map();
  const paints = [];
  await forEachPage(visitor, {}, async (page, name, visitor, limits) => {
    const sent = await sizes(visitor.responses);
    assert.ok(sent.html <= (limits.html ?? LIMITS.html), `${name}: ${sent.html} bytes of HTML`);
    assert.ok(sent.style > 0 && sent.style <= LIMITS.style, `${name}: ${sent.style} bytes of CSS`);
    const ofPage = [...sent.scripts.values()].reduce((sum, size) => sum + size, 0);
    assert.ok(ofPage <= LIMITS.scripts, `${name}: ${ofPage} bytes of scripts`);
    for (const [url, size] of sent.scripts) scripts.set(url, size);
    assert.equal(await page.evaluate(layoutShift), 0, `${name}: layout shift`);
    paints.push(`${name} ${Math.round(await page.evaluate(firstPaint))}`);
  });
  const all = [...scripts.values()].reduce((sum, size) => sum + size, 0);
  assert.ok(all <= LIMITS.allScripts, `${all} bytes of scripts`);
  console.log(`first paint, in ms: ${paints.join(", ")}`);
});

test("a page takes three requests, and one when the browser has been here", async ({ visitor }) => {
  const ana = await visitor();
  await ana.signIn("ana");
  const storageState = await ana.context.storageState();
  const ben = await visitor({ storageState });

  for (const most of [REQUESTS.cold, REQUESTS.warm]) {
    await ben.goto("/ui/toolkits/hostile");
    await ben.page.waitForLoadState("networkidle");
    const fetched = await ben.page.evaluate(overNetwork);
    assert.ok(fetched.length > 0 && fetched.length <= most, fetched.join(" "));
  }
});

test("a directory of a hundred toolkits stays small", async ({ visitor }) => {
  const ana = await visitor();
  await ana.signIn("ana");
  const size = async (path) => {
    ana.responses.length = 0;
    await ana.goto(path);
    return (await sizes(ana.responses)).html;
  };

  const without = await size("/ui/?q=nothing-is-called-so");
  const withOne = await size("/ui/?q=probe");

  const ofHundred = without + 100 * (withOne - without);
  assert.ok(ofHundred > without && ofHundred <= LIMITS.directoryOf100, `${ofHundred} bytes`);
});

/** Opens each page as who may see it, and checks it. */
async function forEachPage(visitor, options, check) {
  const all = await visitors(() => visitor(options));
  for (const page of [...PAGES, MISLEADING]) {
    const who = all[page.who ?? "user"];
    who.responses.length = 0;
    await open(who, page, IDS);
    await check(who.page, page.name, who, page);
  }
}

/** Sizes in bytes of what was sent: the last page, the style, and each script by its URL. */
async function sizes(responses) {
  const sent = { html: 0, style: 0, scripts: new Map() };
  for (const { type, url, text } of responses) {
    const size = Buffer.byteLength((await text) ?? "");
    if (type === "document" && size > 0) sent.html = size;
    if (type === "stylesheet") sent.style = size;
    if (type === "script") sent.scripts.set(url, size);
  }
  return sent;
}

/** In a page: URLs of what it took from the network, itself included, and not from the cache. */
function overNetwork() {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  return all.filter(({ transferSize }) => transferSize > 0).map(({ name }) => name);
}

/** In a page: the sum of all layout shifts since it was opened. */
function layoutShift() {
  return new Promise((done) => {
    const observer = new PerformanceObserver((list) => add(list.getEntries()));
    let sum = 0;
    const add = (entries) => entries.forEach(({ value }) => (sum += value));
    observer.observe({ type: "layout-shift", buffered: true });
    // Two frames: what is buffered has arrived by then.
    requestAnimationFrame(() => requestAnimationFrame(() => done(add(observer.takeRecords()) ?? sum)));
  });
}

/** In a page: when something was first painted, in milliseconds after it was requested. */
function firstPaint() {
  return new Promise((done) => {
    new PerformanceObserver((list) => done(list.getEntries()[0].startTime)).observe({ type: "paint", buffered: true });
  });
}
