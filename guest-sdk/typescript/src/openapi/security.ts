// Derives `auth`, `egress` and `secrets` of the declaration from the document's servers and security schemes.
import type { ToolkitAuth } from "../types.js";
import type { OpenApiDocument } from "./document.js";
import { isRecord, listAt, member, members, recordAt, textAt } from "./json.js";
import type { Operation, Requirement } from "./operations.js";
import { CannotMake, DocumentError } from "./problem.js";
import { prose, wordsOf } from "./words.js";

const MAX_SCOPES_BYTES = 500;
const MAX_SCHEMES = 200;
/** Parameters of an authorization request that the server sets itself. */
const OWN_PARAMETERS = ["response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "scope", "nonce", "request", "request_uri", "response_mode"];

/** Returns the base URL of the API. `given` overrides the document's. */
export function baseUrlOf(document: OpenApiDocument, given: string | undefined): string {
  if (given !== undefined) return checkedServer(given) ?? invalidServer(given);
  const servers = document.version === "2.0" ? swaggerServers(document) : listAt(document.root, "servers");
  const found = servers.map((it) => serverUrl(document, it)).filter((it) => it !== undefined);
  const best = found.find((it) => it.startsWith("https:")) ?? found[0];
  if (best === undefined) throw new DocumentError("the document does not name an absolute address of a server: name it with --api-url URL");
  return best;
}

function invalidServer(given: string): never {
  throw new DocumentError(`${JSON.stringify(given)} is no address of a server, such as https://api.example.com/v1`);
}

/** Returns the base URL of an operation with its own server; `undefined` if it uses the document's. */
export function ownServer(document: OpenApiDocument, operation: Operation, base: string): string | undefined {
  if (operation.servers.length === 0) return undefined;
  const [found] = operation.servers.map((it) => serverUrl(document, it)).filter((it) => it !== undefined);
  if (found === undefined) throw new CannotMake("the address of its server is not absolute");
  return found === base ? undefined : found;
}

function swaggerServers(document: OpenApiDocument): unknown[] {
  const host = textAt(document.root, "host");
  const path = textAt(document.root, "basePath") ?? "";
  if (host === undefined) return [{ url: path === "" ? "/" : path }];
  const schemes = listAt(document.root, "schemes").filter((it) => it === "https" || it === "http");
  return (schemes.length > 0 ? schemes : ["https"]).map((scheme) => ({ url: `${String(scheme)}://${host}${path}` }));
}

/** Returns the absolute URL of a server, with variables replaced by their defaults. */
function serverUrl(document: OpenApiDocument, server: unknown): string | undefined {
  const template = textAt(server, "url");
  if (template === undefined) return undefined;
  const variables = recordAt(server, "variables");
  const url = template.replaceAll(/\{([^{}]*)\}/g, (all, name: string) => textAt(member(variables, name), "default") ?? all);
  const isRelative = !/^[a-z][a-z0-9+.-]*:/i.test(url);
  if (!isRelative) return checkedServer(url);
  if (!document.url.startsWith("http")) return undefined;
  return URL.canParse(url, document.url) ? checkedServer(new URL(url, document.url).href) : undefined;
}

function checkedServer(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isPlain = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  const isHttp = url.protocol === "https:" || url.protocol === "http:";
  return isHttp && isPlain && !/[{}]|%7[bd]/i.test(url.href) ? url.href.replace(/\/+$/, "") : undefined;
}

/** Returns the entry of `egress` for a URL. */
export function hostOf(url: string): string {
  return new URL(url).host;
}

/** Sign-in of the toolkit. */
export interface SignIn {
  auth: ToolkitAuth | undefined;
  /** Further hosts of the API. `auth` repeats its entry for each. */
  otherHosts: string[];
  /** Names of the secrets that handlers may read. */
  secrets: string[];
  /** Headers with further keys that `api.ts` sets itself: a host can have only one sign-in. */
  headers: { name: string; secret: string; prefix: string }[];
  /** Hosts in addition to that of the API. */
  egress: string[];
  /** Notes for the author. */
  notes: string[];
  /** Names of the security schemes that the toolkit's requests satisfy. */
  schemes: ReadonlySet<string>;
}

type Scheme = Pick<SignIn, "auth" | "secrets" | "egress" | "notes">;

const NOBODY: SignIn = { auth: undefined, otherHosts: [], secrets: [], headers: [], egress: [], notes: [], schemes: new Set() };

/** Chooses the sign-in that most operations can use. */
export function signInOf(document: OpenApiDocument, id: string, base: string, operations: Operation[]): SignIn {
  const schemes = new Map(
    members(document.version === "2.0" ? recordAt(document.root, "securityDefinitions") : recordAt(recordAt(document.root, "components"), "securitySchemes"))
      .slice(0, MAX_SCHEMES)
      .map(([name, value]) => [name, schemeAt(document, value)]),
  );
  const counts = new Map<string, { requirement: Requirement; count: number }>();
  for (const { security } of operations) {
    for (const requirement of security) {
      if (requirement.size === 0) continue;
      const key = JSON.stringify([...requirement.keys()].sort());
      const entry = counts.get(key) ?? { requirement, count: 0 };
      counts.set(key, { ...entry, count: entry.count + 1 });
    }
  }
  const notes: string[] = [];
  const ranked = [...counts.values()].sort((a, b) => b.count - a.count || a.requirement.size - b.requirement.size);
  for (const { requirement } of ranked) {
    const names = [...requirement.keys()];
    const scopes = scopesOf(operations, names);
    try {
      return { ...combined(names, (name) => schemeOf(schemes.get(name), name, { id, base, scopes, document })), schemes: new Set(names) };
    } catch (error) {
      if (!(error instanceof CannotMake)) throw error;
      notes.push(`the sign-in ${names.map((it) => JSON.stringify(it)).join(" and ")} cannot be made: ${error.message}`);
    }
  }
  return { ...NOBODY, notes };
}

function schemeAt(document: OpenApiDocument, value: unknown): unknown {
  try {
    return document.resolve({ value, file: document.url }).value;
  } catch {
    return undefined;
  }
}

/** Returns the reason why an operation cannot be called with the sign-in; `undefined` if it can. */
export function missingSignIn({ security }: Operation, signIn: SignIn): string | undefined {
  const isMet = security.length === 0 || security.some((requirement) => [...requirement.keys()].every((name) => signIn.schemes.has(name)));
  if (isMet) return undefined;
  const needed = security.map((it) => [...it.keys()].map((name) => JSON.stringify(name)).join(" and ")).join(" or ");
  const had = [...signIn.schemes].map((it) => JSON.stringify(it)).join(" and ");
  return `it needs the sign-in ${needed}, and the toolkit has ${had === "" ? "none" : had}: choose operations of one sign-in with --only`;
}

/** Combines schemes that are needed together. A host has one `auth`, so further keys become headers set by handlers. */
function combined(names: string[], make: (name: string) => Scheme): Omit<SignIn, "schemes"> {
  const [first, ...others] = names.map(make);
  if (first === undefined) return NOBODY;
  const headers = others.map(({ auth }) => {
    if (auth?.type !== "api_key" || auth.in === "query") throw new CannotMake("only one of the sign-ins that it needs together can be used");
    return { name: auth.name ?? "Authorization", secret: auth.secret, prefix: auth.prefix ?? "" };
  });
  return {
    auth: first.auth,
    otherHosts: [],
    secrets: [...first.secrets, ...headers.map((it) => it.secret)],
    headers,
    egress: first.egress,
    notes: [first, ...others].flatMap((it) => it.notes),
  };
}

function scopesOf(operations: Operation[], names: string[]): string[] {
  const found = new Set<string>();
  for (const { security } of operations) {
    for (const requirement of security) {
      if (![...requirement.keys()].every((it) => names.includes(it))) continue;
      for (const scopes of requirement.values()) for (const scope of scopes) found.add(scope);
    }
  }
  // Only valid scope tokens (RFC 6749, section 3.3).
  return [...found].filter((it) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(it)).sort();
}

interface SchemeContext {
  id: string;
  base: string;
  scopes: string[];
  document: OpenApiDocument;
}

function schemeOf(scheme: unknown, name: string, context: SchemeContext): Scheme {
  if (!isRecord(scheme)) throw new CannotMake("the document does not describe it");
  const apiHost = hostOf(context.base);
  const secret = (suffix: string) => [...wordsOf(context.id), ...suffix.split("_")].join("_").toUpperCase().replace(/^(?=\d)/, "API_");
  const plain = (auth: ToolkitAuth, ...notes: string[]): Scheme => ({ auth, secrets: [], egress: [], notes });
  const bearer = (note: string): Scheme => plain({ type: "api_key", secret: secret("token"), name: "Authorization", prefix: "Bearer ", apiHost }, note);
  switch (textAt(scheme, "type")) {
    case "apiKey":
      return plain(keyOf(scheme, secret(suffixOf(name)), apiHost));
    case "basic":
      return plain({ type: "basic", usernameSecret: secret("username"), passwordSecret: secret("password"), apiHost });
    case "http":
      switch (textAt(scheme, "scheme")?.toLowerCase()) {
        case "basic":
          return plain({ type: "basic", usernameSecret: secret("username"), passwordSecret: secret("password"), apiHost });
        case "bearer":
          return plain({ type: "api_key", secret: secret("token"), name: "Authorization", prefix: "Bearer ", apiHost });
        default:
          throw new CannotMake(`HTTP ${JSON.stringify(textAt(scheme, "scheme") ?? "")} is not supported`);
      }
    case "oauth2":
      return grantOf(scheme, context, secret, apiHost) ?? bearer("the document has no grant that the server can carry out: users set an access token");
    case "openIdConnect":
      return bearer("the document names OpenID Connect without endpoints: users set an access token, or write an oauth2_authorization_code into `auth`");
    default:
      throw new CannotMake(`the type ${JSON.stringify(textAt(scheme, "type") ?? "")} is not supported`);
  }
}

/** Returns the suffix of a key's secret name; `api_key` for names without information, such as `X-API-Key`. */
function suffixOf(name: string): string {
  const words = wordsOf(name).filter((it) => !["auth", "authorization", "header", "security", "scheme"].includes(it));
  const made = words.join("_").slice(0, 40).replace(/_$/, "");
  return made === "" || /^(x_)?(api_?)?(key|token)?$/.test(made) ? "api_key" : made;
}

function keyOf(scheme: unknown, secret: string, apiHost: string): ToolkitAuth {
  const [place, name] = [textAt(scheme, "in"), textAt(scheme, "name")];
  if (name === undefined) throw new CannotMake("its key has no name");
  if (place === "query" && name.length <= 500) return { type: "api_key", secret, in: "query", name, apiHost };
  if (place !== "header") throw new CannotMake(`its key is in ${JSON.stringify(place ?? "nothing")}`);
  const isHeader = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,500}$/.test(name);
  if (!isHeader) throw new CannotMake(`${JSON.stringify(name.slice(0, 100))} is no name of a header`);
  const prefix = /^authorization$/i.test(name) ? prefixIn(scheme) : undefined;
  return { type: "api_key", secret, name, ...(prefix !== undefined && { prefix }), apiHost };
}

/** Returns the prefix named in a scheme's description: Swagger 2.0 has no Bearer scheme, so documents describe it. */
function prefixIn(scheme: unknown): string | undefined {
  const found = /\b(Bearer|Token|Bot|ApiKey|Basic)\b/i.exec(prose(textAt(scheme, "description"), 300))?.[1];
  return found === undefined ? undefined : `${found[0]!.toUpperCase()}${found.slice(1)} `;
}

function grantOf(scheme: unknown, { scopes, document, base }: SchemeContext, secret: (suffix: string) => string, apiHost: string): Scheme | undefined {
  const flows = document.version === "2.0" ? swaggerFlows(scheme) : recordAt(scheme, "flows");
  const url = (flow: unknown, name: string) => protectedUrl(textAt(flow, name), base);
  const joined = scopes.join(" ");
  const scope = joined === "" || joined.length > MAX_SCOPES_BYTES ? {} : { scope: joined };
  const notes = joined.length > MAX_SCOPES_BYTES ? ["the operations need too many scopes to list: write those that you need into `auth`"] : [];
  const names = { clientIdSecret: secret("client_id"), clientSecretSecret: secret("client_secret") };

  const code = member(flows, "authorizationCode");
  const [authorizationUrl, tokenUrl] = [url(code, "authorizationUrl"), url(code, "tokenUrl")];
  if (authorizationUrl !== undefined && tokenUrl !== undefined) {
    const auth: ToolkitAuth = { type: "oauth2_authorization_code", authorizationUrl, tokenUrl, ...names, ...scope, apiHost };
    return { auth, secrets: [], egress: [hostOf(tokenUrl)], notes };
  }
  const own = url(member(flows, "clientCredentials"), "tokenUrl");
  if (own === undefined) return undefined;
  const auth: ToolkitAuth = { type: "oauth2_client_credentials", tokenUrl: own, ...names, ...scope, apiHost };
  return { auth, secrets: [names.clientIdSecret, names.clientSecretSecret], egress: [hostOf(own)], notes };
}

function swaggerFlows(scheme: unknown): unknown {
  const names: Record<string, string> = { accessCode: "authorizationCode", application: "clientCredentials" };
  const flow = textAt(scheme, "flow") ?? "";
  return Object.hasOwn(names, flow) ? { [names[flow]!]: scheme } : {};
}

/** Returns the absolute URL if credentials may be sent to it; otherwise `undefined`. */
function protectedUrl(text: string | undefined, base: string): string | undefined {
  if (text === undefined || text.length > 2000 || !URL.canParse(text, `${base}/`)) return undefined;
  const url = new URL(text, `${base}/`);
  const isProtected = url.protocol === "https:" && url.username === "" && url.password === "" && url.hash === "";
  const isPlain = [...url.searchParams.keys()].every((it) => /^[\w.-]*$/.test(it) && !OWN_PARAMETERS.includes(it.toLowerCase()));
  return isProtected && isPlain && !/[{}]|%7[bd]/i.test(url.href) ? url.href : undefined;
}
