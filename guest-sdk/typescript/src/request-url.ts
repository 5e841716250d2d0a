import { entryFor } from "./egress.js";

/** Says which entry of `egress` would let a request through. */
export function notListed(url: URL): string {
  const entry = entryFor(url);
  return `${entry} is not listed in egress: add ${JSON.stringify(entry)} to the toolkit's egress`;
}

/** Returns where a request goes; a request that cannot be sent throws. */
export function urlOf(input: string | URL | Request): URL {
  const text = typeof input === "string" ? input : input instanceof URL ? input.href : input.url;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The text itself may carry a key: the message names the rule only.
    throw new TypeError("invalid request: the URL must be absolute, such as https://api.example.com/path");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new TypeError("invalid request: the URL must begin with https:// or http://");
  }
  return url;
}
