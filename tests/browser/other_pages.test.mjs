// Pages of others, in a browser that is signed in: they can link to a page, and do nothing else with it.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";

import { suite } from "./harness/suite.mjs";
import { OTHER_SITE } from "./harness/visitor.mjs";

const test = suite(["guest-hostile"]);
const TOOLKIT = "/ui/toolkits/hostile";

for (const [whose, host] of [["another site", OTHER_SITE], ["another port", "127.0.0.1"]]) {
  test(`${whose} cannot send a form, nor frame, fetch or watch a page`, async ({ server, browser, visitor }) => {
    const ana = await visitor();
    await ana.signIn("ana", TOOLKIT);
    const foreign = await foreignPage(server.origin, host);
    // A tab of the same profile. Its page complains of what it is refused.
    const context = await browser.newContext({ storageState: await ana.context.storageState() });
    const tab = await context.newPage();
    try {
      for (const form of ["settings", "signout", "signin"]) {
        await tab.goto(foreign.url);
        if (form === "signin") await tab.locator("#signin input[name=code]").fill(server.code);
        await tab.locator(`#${form} button`).click();
        await tab.getByRole("heading", { name: "Forbidden" }).waitFor();
      }

      await tab.goto(foreign.url);
      for (const frame of tab.frames().slice(1)) assert.doesNotMatch(await frame.content(), /Sign out/);
      assert.equal(await tab.evaluate(tryToFetch, `${server.origin}${TOOLKIT}`), "refused, refused");
      assert.equal(await tab.evaluate(tryToWatch, `${server.origin}/ui/`), "closed");

      await tab.goto(foreign.url);
      await tab.getByRole("link").click();
      await tab.getByRole("button", { name: "Sign out" }).waitFor();
    } finally {
      await context.close();
      await foreign.stop();
    }

    await ana.goto(TOOLKIT);
    assert.equal(await ana.page.locator("#setting-limit").inputValue(), "");
  });
}

test("the session cookie opens no api route", async ({ visitor }) => {
  const ben = await visitor();
  ben.expect(400, 401, 403, 404, 405, 406, 415);
  await ben.signIn("ben", TOOLKIT);

  const routes = [
    ["GET", "/toolkits"],
    ["GET", "/toolkits/hostile"],
    ["GET", "/toolkits/hostile/config"],
    ["PATCH", "/toolkits/hostile/config", { limit: 1 }],
    ["GET", "/toolkits/hostile/logs"],
    ["POST", "/toolkits", {}],
    ["DELETE", "/toolkits/hostile"],
    ["POST", "/graphql", { query: "{ me { id } }" }],
    ["POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }],
    ["POST", "/documents/file", {}],
  ];
  const statuses = await ben.page.evaluate(send, routes);
  assert.deepEqual(statuses, routes.map(([method, path]) => `${method} ${path} 401`));
});

/** Serves a page with everything that could reach into `target`, at another port, as `host`. */
async function foreignPage(target, host) {
  const html = `<!doctype html><title>Foreign</title>
    <form id="settings" method="post" action="${target}${TOOLKIT}/settings"><input name="limit" value="5"><button>Send</button></form>
    <form id="signout" method="post" action="${target}/ui/signout"><button>Send</button></form>
    <form id="signin" method="post" action="${target}/ui/signin">
      <input name="user" value="mallory"><input name="code"><button>Send</button></form>
    <a href="${target}${TOOLKIT}">Link</a>
    <iframe src="${target}${TOOLKIT}"></iframe><iframe src="${target}/ui/signin"></iframe>`;
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(html));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => new Promise((done) => server.close(done).closeAllConnections());
  return { url: `http://${host}:${server.address().port}/`, stop };
}

/** In a foreign page: reads a page with its cookie, and without being told what it says. */
async function tryToFetch(url) {
  const outcomes = ["cors", "no-cors"].map((mode) =>
    fetch(url, { mode, credentials: "include" }).then(() => "answered", () => "refused"),
  );
  return (await Promise.all(outcomes)).join(", ");
}

/** In a foreign page: opens a window, and asks whether it can still reach it. */
async function tryToWatch(url) {
  const opened = window.open(url);
  for (let tries = 0; tries < 100 && !opened.closed; tries += 1) await new Promise((done) => setTimeout(done, 50));
  return opened.closed ? "closed" : "reached";
}

/** In a page of the server: sends each request with the cookie; returns the statuses. */
function send(routes) {
  const one = async ([method, path, body]) => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const init = { method, headers, credentials: "include", body: body && JSON.stringify(body) };
    return `${method} ${path} ${(await fetch(path, init)).status}`;
  };
  return Promise.all(routes.map(one));
}
