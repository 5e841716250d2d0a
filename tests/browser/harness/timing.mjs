// How long the server takes for a page: without a browser, over one connection that stays open.

import { Agent, get } from "node:http";

/** What a browser says of itself when a person opens a page. */
const NAVIGATION = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
const ROUNDS = 100;

/** Median and 99th percentile of the time from the request to the last byte, in milliseconds. */
export async function serverTimes(visitor, path) {
  const cookies = (await visitor.context.cookies()).map(({ name, value }) => `${name}=${value}`);
  const options = { agent: new Agent({ keepAlive: true }), headers: { ...NAVIGATION, cookie: cookies.join("; ") } };
  try {
    const times = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const begun = performance.now();
      await received(new URL(path, visitor.server.origin), options);
      times.push(performance.now() - begun);
    }
    times.sort((left, right) => left - right);
    return { median: times[ROUNDS / 2], slowest: times[ROUNDS - 1] };
  } finally {
    options.agent.destroy();
  }
}

/** Waits for a whole answer. */
function received(url, options) {
  return new Promise((done, fail) => {
    const request = get(url, options, (answer) => answer.on("end", done).on("error", fail).resume());
    request.on("error", fail);
  });
}
