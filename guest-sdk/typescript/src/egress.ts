/**
 * Whether `egress` lists the URL's host. An entry without a port allows the default port of the URL's scheme,
 * an entry `host:port` only that port.
 */
export function allows(egress: readonly string[], url: URL): boolean {
  const name = hostname(url);
  if (name === "") return false;
  const port = url.port || { "http:": "80", "https:": "443" }[url.protocol];
  return egress.includes(entryFor(url)) || (port !== undefined && egress.includes(`${name}:${port}`));
}

/** Returns the `egress` entry that would allow the URL. */
export function entryFor(url: URL): string {
  return url.port === "" ? hostname(url) : `${hostname(url)}:${url.port}`;
}

/** Returns the host name without the trailing dot of the DNS root, which does not change its meaning. */
function hostname(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}
