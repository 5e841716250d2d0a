// A person with a browser of their own, whose every complaint counts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

import { chromium } from "playwright-core";

const ACTION_TIMEOUT = 20_000;
/** The host of another site, which is this machine. */
export const OTHER_SITE = "evil.example";

/** Starts the browser that `scripts/install-browser` has found. */
export function launch() {
  const script = resolve(import.meta.dirname, "../../../scripts/install-browser");
  const executablePath = execFileSync(script, ["--path"], { encoding: "utf8" }).trim();
  return chromium.launch({ executablePath, args: [`--host-resolver-rules=MAP ${OTHER_SITE} 127.0.0.1`] });
}

export class Visitor {
  /** What the server has sent: URL, status, type, and text unless the browser has lost it. */
  responses = [];
  /** URLs of all requests. */
  requests = [];
  #problems = [];
  #expected = new Set();
  #origins = [];

  /** A fresh profile; `options` are those of Playwright's contexts. */
  static async open(browser, server, options = {}) {
    const context = await browser.newContext({ baseURL: server.origin, ...options });
    context.setDefaultTimeout(ACTION_TIMEOUT);
    const visitor = new Visitor(context, server);
    context.on("page", (page) => visitor.#watch(page));
    visitor.page = await context.newPage();
    return visitor;
  }

  constructor(context, server) {
    this.context = context;
    this.server = server;
  }

  #watch(page) {
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.#complain(message.text());
    });
    page.on("pageerror", (error) => this.#problems.push(`script: ${error}`));
    page.on("request", (request) => {
      this.requests.push(request.url());
      const { origin } = new URL(request.url());
      if (![this.server.origin, ...this.#origins].includes(origin)) this.#problems.push(`request to ${request.url()}`);
    });
    page.on("response", (response) => {
      const type = response.request().resourceType();
      const isRedirect = response.status() >= 300 && response.status() < 400;
      // What a script fetches may be a stream, which does not end.
      const hasNoText = isRedirect || type === "fetch";
      const text = hasNoText ? Promise.resolve("") : response.text().catch(() => undefined);
      this.responses.push({ url: response.url(), status: response.status(), type, text });
    });
  }

  #complain(text) {
    const [, status] = /the server responded with a status of (\d+)/.exec(text) ?? [];
    if (!this.#expected.has(Number(status))) this.#problems.push(`console: ${text}`);
  }

  /** Statuses that the test provokes, and of which the console may speak. */
  expect(...statuses) {
    for (const status of statuses) this.#expected.add(status);
  }

  /** Another origin that the test goes to. */
  expectOrigin(origin) {
    this.#origins.push(origin);
  }

  /** Fails on errors and warnings of the console, errors of scripts, and requests to other origins. */
  assertQuiet() {
    assert.deepEqual(this.#problems, []);
  }

  /** Opens a page, and returns its status. */
  async goto(path) {
    const response = await this.page.goto(path);
    // The browser forgets texts when it goes on.
    await Promise.all(this.responses.map(({ text }) => text));
    return response.status();
  }

  /** Fills in the page of sign-in, which is already open. */
  async enter(user, page = this.page) {
    await page.getByLabel("Name").fill(user);
    await page.getByLabel("Sign-in code").fill(this.server.code);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  /** Opens a page, signing in on the way. */
  async signIn(user, path = "/ui/") {
    await this.goto(path);
    await this.enter(user);
  }

  /** The path and query of the page that is open. */
  path() {
    const { pathname, search } = new URL(this.page.url());
    return pathname + search;
  }

  close() {
    return this.context.close();
  }
}
