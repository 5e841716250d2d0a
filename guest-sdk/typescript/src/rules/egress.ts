import { allows, entryFor } from "../egress.js";
import type { Report } from "./problems.js";

const EXPECTED = "must be a bare host name with an optional :port, such as api.example.com or api.example.com:8443";

export function hosts(value: unknown, report: Report): string[] {
  const entries = report.texts("egress", value);
  const seen = new Set<string>();
  for (const { path, text } of entries) {
    const message = hostProblem(text);
    if (message !== undefined) report.add(path, message);
    if (seen.has(text)) report.add(path, `${JSON.stringify(text)} is listed twice`);
    seen.add(text);
  }
  return [...seen];
}

const AUTH_FIELDS = ["type", "tokenUrl", "clientIdSecret", "clientSecretSecret", "scope", "apiHost"];

export function auth(value: unknown, egress: string[], secrets: string[], report: Report): void {
  if (value === undefined) return;
  const declared = report.object("auth", value);
  if (declared === undefined) return;
  if (declared.type !== "oauth2_client_credentials") {
    report.add("auth.type", 'must be "oauth2_client_credentials"');
  }
  tokenUrl(declared.tokenUrl, egress, report);
  for (const key of ["clientIdSecret", "clientSecretSecret"]) {
    const name = report.text(`auth.${key}`, declared[key]);
    if (name !== undefined && !secrets.includes(name)) {
      report.add(`auth.${key}`, `${JSON.stringify(name)} must be listed in secrets`);
    }
  }
  if (declared.scope !== undefined) report.text("auth.scope", declared.scope);
  const host = report.text("auth.apiHost", declared.apiHost);
  if (host !== undefined) {
    const message = hostProblem(host);
    if (message !== undefined) report.add("auth.apiHost", message);
    else if (!egress.includes(host)) report.add("auth.apiHost", `must be listed in egress: add ${JSON.stringify(host)}`);
  }
  report.unknown("auth.", declared, AUTH_FIELDS);
}

function tokenUrl(value: unknown, egress: string[], report: Report): void {
  const path = "auth.tokenUrl";
  const text = report.text(path, value);
  if (text === undefined) return;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    const reason = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) ? "it is no URL" : "relative URL without a base";
    report.add(path, `must be an https:// URL (${reason})`);
    return;
  }
  if (!isProtected(url)) {
    report.add(path, "must be an https:// URL (http:// only on loopback)");
  } else if (!allows(egress, url)) {
    report.add(path, `its host must be listed in egress: add ${JSON.stringify(entryFor(url))}`);
  }
}

/**
 * Accepts a bare host name or address literal with an optional port, spelled as a URL parser would
 * spell it: what is listed is what is compared.
 */
function hostProblem(entry: string): string | undefined {
  const shown = JSON.stringify(entry);
  if (entry.includes("*")) return `${shown} has a wildcard; ${EXPECTED}`;
  if (entry === "" || /[/\\@?#%]|\p{White_Space}/u.test(entry)) return `${shown} ${EXPECTED}`;
  const split = splitPort(entry);
  if (split === undefined) return `${shown} ${EXPECTED}`;
  const { host, port } = split;
  if (port === 0) return `${shown} has port 0; ${EXPECTED}`;
  const spelled = spell(host);
  if (typeof spelled === "object") return `${shown} is no host (${spelled.reason}); ${EXPECTED}`;
  if (host.endsWith(".") || spelled !== host) {
    return `${shown} must be written ${JSON.stringify(spelled.replace(/\.+$/, ""))}`;
  }
  return undefined;
}

function splitPort(entry: string): { host: string; port?: number } | undefined {
  const bracket = entry.indexOf("]");
  if (entry.startsWith("[") && bracket < 0) return undefined;
  const colon = entry.indexOf(":");
  const end = entry.startsWith("[") ? bracket + 1 : colon < 0 ? entry.length : colon;
  const [host, rest] = [entry.slice(0, end), entry.slice(end)];
  if (rest === "") return { host };
  if (!/^:[0-9]*$/.test(rest)) return undefined;
  const port = rest === ":" ? NaN : Number(rest.slice(1));
  return port <= 65535 ? { host, port } : undefined;
}

/** Returns the host as a URL has it, or why it is none. */
function spell(host: string): string | { reason: string } {
  if (host === "") return { reason: "empty host" };
  try {
    return new URL(`https://${host}/`).hostname;
  } catch {
    if (host.startsWith("[")) return { reason: "invalid IPv6 address" };
    const last = host.replace(/\.$/, "").split(".").at(-1)!;
    return { reason: /^(\d+|0x[0-9a-f]*)$/i.test(last) ? "invalid IPv4 address" : "invalid international domain name" };
  }
}

/** Whether a token may travel to this URL: encrypted, or without leaving the machine. */
function isProtected(url: URL): boolean {
  const loopback = url.hostname === "localhost" || url.hostname === "[::1]" || /^127\./.test(url.hostname);
  return url.protocol === "https:" || (url.protocol === "http:" && loopback);
}
