/**
 * Whether `egress` lists the URL's host. A bare host stands for the scheme's default port,
 * `host:port` for that port alone.
 */
export function allows(egress: readonly string[], url: URL): boolean {
  const name = hostname(url);
  if (name === "") return false;
  const port = url.port || { "http:": "80", "https:": "443" }[url.protocol];
  return egress.includes(entryFor(url)) || (port !== undefined && egress.includes(`${name}:${port}`));
}

/** Returns the entry that would grant the URL. */
export function entryFor(url: URL): string {
  return url.port === "" ? hostname(url) : `${hostname(url)}:${url.port}`;
}

/** A name with its root's dot is the same name. */
function hostname(url: URL): string {
  return url.hostname.replace(/\.$/, "");
}
