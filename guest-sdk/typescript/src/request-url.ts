/** Returns the URL of a request. Throws a `TypeError` unless it is an absolute http or https URL. */
export function urlOf(input: string | URL | Request): URL {
  const text = typeof input === "string" ? input : input instanceof URL ? input.href : input.url;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The message does not quote the URL, which may contain a key.
    throw new TypeError("invalid request: the URL must be absolute, such as https://api.example.com/path");
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new TypeError("invalid request: the URL must begin with https:// or http://");
  }
  return url;
}
