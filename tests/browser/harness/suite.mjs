// What the tests of a file share: one server and one browser.

import { after, before, test } from "node:test";

import { Server } from "./server.mjs";
import { Visitor, launch } from "./visitor.mjs";

const SETUP_TIMEOUT = 240_000;
const TEST_TIMEOUT = 120_000;

/**
 * Starts a server with these toolkits and flags and a browser, calls `prepare` with the server, and returns what makes a test of them: a name, and a function
 * that gets `{ server, visitor }`. `visitor(options)` opens a browser profile; at the end of the test, none of them
 * may have complained.
 */
export function suite(toolkits, flags, prepare = async () => {}) {
  let server;
  let browser;
  before(
    async () => {
      // One after the other: whatever has started is known to `after`.
      server = await Server.start(flags);
      browser = await launch();
      await server.deploy(...toolkits);
      await prepare(server);
    },
    { timeout: SETUP_TIMEOUT },
  );
  after(async () => {
    await Promise.all([browser?.close(), server?.stop()]);
  });

  return (name, body) =>
    test(name, { timeout: TEST_TIMEOUT }, async () => {
      const visitors = [];
      const visitor = async (options) => {
        visitors.push(await Visitor.open(browser, server, options));
        return visitors.at(-1);
      };
      try {
        await body({ server, browser, visitor });
        for (const visitor of visitors) visitor.assertQuiet();
      } finally {
        await Promise.all(visitors.map((visitor) => visitor.close()));
      }
    });
}
