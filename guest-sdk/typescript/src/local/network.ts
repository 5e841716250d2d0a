// The network of a test, behind the same allowlist: what the host does on the way is done here.
import { allows } from "../egress.js";
import type { FetchImplementation } from "../define.js";
import { notListed } from "../request-url.js";
import { limitsOfCalls, type SignInCause } from "../rules.js";
import type { OAuth2ClientCredentials, ToolkitConfig } from "../types.js";
import type { Trace } from "./world.js";

const REDIRECTS = [301, 302, 303, 307, 308];
/** What stays behind where a redirect leads to another origin. */
const CREDENTIALS = ["authorization", "cookie", "proxy-authorization"];

/** Sends the requests of one call. */
export class Network {
  /** The newest. */
  #token: Promise<string> | undefined;
  /** Headers that the handler knows nothing of. */
  readonly #attached = new Set<string>();

  constructor(
    readonly config: ToolkitConfig,
    readonly secrets: Record<string, string>,
    readonly fetchImpl: FetchImplementation | undefined,
    readonly trace: Trace,
  ) {}

  /** Sends a request, signs it in where the declaration says so, and follows redirects. */
  async fetch(input: string | Request, init: RequestInit | undefined): Promise<Response> {
    const first = new URL(typeof input === "string" ? input : input.url);
    let [target, request] = [input, await this.#signIn(first, headed(input, init), input)];
    let url = first;
    for (let followed = 0; followed <= limitsOfCalls().redirects; followed += 1) {
      const response = await this.#sendAgainSignedIn(url, target, request, await this.#send(url, target, request));
      const location = REDIRECTS.includes(response.status) ? response.headers.get("location") : null;
      if (location === null) return response;
      const next = new URL(location, url);
      if (url.protocol === "https:" && next.protocol !== "https:") throw new TypeError("it leads from https to http");
      request = redirected(request, target, response.status, url.origin === next.origin);
      [url, target] = [next, next.href];
    }
    throw new TypeError("too many redirects");
  }

  async #send(url: URL, target: string | Request, init: RequestInit): Promise<Response> {
    if (!allows(this.config.egress ?? [], url)) throw new TypeError(notListed(url));
    const method = (init.method ?? (typeof target === "string" ? "GET" : target.method)).toUpperCase();
    this.trace.requests.push({ method, url: url.href });
    if (this.fetchImpl !== undefined) return this.fetchImpl(target, init);
    // Node.js asks for this; the sandbox and the types that authors have know nothing of it.
    const streams = init.body instanceof ReadableStream && { duplex: "half" };
    return fetch(target, { ...init, ...streams, redirect: "manual" } as RequestInit);
  }

  /** Attaches the token of a declared `auth`. */
  async #signIn(url: URL, init: RequestInit, input: string | Request): Promise<RequestInit> {
    const { auth } = this.config;
    if (auth === undefined || !allows([auth.apiHost], url)) return init;
    if (headersOf(input, init).has("authorization")) return init;
    const { [auth.clientIdSecret]: id, [auth.clientSecretSecret]: secret } = this.secrets;
    if (id === undefined || secret === undefined) {
      const names = [auth.clientIdSecret, auth.clientSecretSecret].filter((name) => this.secrets[name] === undefined);
      throw this.#failed({ cause: "missing-credentials", toolkit: this.config.id, names });
    }
    this.#token ??= this.#minted(auth, id, secret);
    const bearer = `Bearer ${await this.#token}`;
    this.#attached.add(bearer);
    return withHeader(init, "authorization", bearer);
  }

  /** Sends a request whose token was refused with a new one, once. A body that is gone cannot be sent again. */
  async #sendAgainSignedIn(url: URL, target: string | Request, init: RequestInit, response: Response): Promise<Response> {
    if (response.status !== 401 && response.status !== 403) return response;
    const refused = headersOf(target, init).get("authorization") ?? "";
    if (!this.#attached.has(refused)) return response;
    if (init.body instanceof ReadableStream || (typeof target === "object" && target.bodyUsed)) return response;
    const { auth } = this.config;
    const { [auth!.clientIdSecret]: id, [auth!.clientSecretSecret]: secret } = this.secrets;
    const current = this.#token;
    const isCurrent = refused === `Bearer ${await current}`;
    // Another request that was refused may have asked for the new one already.
    if (isCurrent && current === this.#token) this.#token = this.#minted(auth!, id!, secret!);
    let token: string;
    try {
      token = await this.#token!;
    } catch {
      // What the API answered is the answer.
      delete this.trace.signIn;
      return response;
    }
    await response.body?.cancel();
    return this.#send(url, target, withHeader(init, "authorization", `Bearer ${token}`));
  }

  /** A token that was not to be had is asked for again by the next request. */
  #minted(auth: OAuth2ClientCredentials, id: string, secret: string): Promise<string> {
    const minted = this.#mint(auth, id, secret);
    minted.catch(() => {
      if (this.#token === minted) this.#token = undefined;
    });
    return minted;
  }

  /** Asks for a token (RFC 6749, section 4.4). */
  async #mint(auth: OAuth2ClientCredentials, id: string, secret: string): Promise<string> {
    const url = new URL(auth.tokenUrl);
    const form = new URLSearchParams({ grant_type: "client_credentials", ...(auth.scope && { scope: auth.scope }) });
    const response = await this.#send(url, auth.tokenUrl, {
      method: "POST",
      headers: {
        authorization: `Basic ${btoa(`${formEncoded(id)}:${formEncoded(secret)}`)}`,
        accept: "application/json",
        "content-type": "application/x-www-form-urlencoded",
      },
      body: form.toString(),
    });
    const { status } = response;
    const answer = objectIn(await response.text());
    const { hostname: host } = url;
    if (status === 429 || status >= 500) throw new TypeError(`the token endpoint answered with HTTP status ${status}`);
    if (status !== 200) {
      const names = [auth.clientIdSecret, auth.clientSecretSecret];
      const code = String(answer?.error ?? "");
      throw this.#failed({ cause: "refused-credentials", toolkit: this.config.id, names, host, status, code });
    }
    const { access_token: token, token_type: type = "bearer" } = answer ?? {};
    const unusable = (reason: string) => this.#failed({ cause: "unusable-token", host, reason });
    if (typeof token !== "string") throw unusable("it is no JSON object with access_token");
    // Section 5.1 asks for a type; many servers leave it out, and there is one only.
    if (String(type).toLowerCase() !== "bearer") throw unusable("its token_type is not Bearer");
    if (!/^[!-~]+$/.test(token)) throw unusable("its access_token cannot stand in a header");
    return token;
  }

  /** What the model reads of it is the host's to say, whatever the handler makes of the network error. */
  #failed(cause: SignInCause): TypeError {
    this.trace.signIn = cause;
    return new TypeError("the host could not sign in");
  }
}

/** Section 2.3.1: both parts are form-urlencoded first. */
function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function objectIn(text: string): { [member: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as { [member: string]: unknown }) : undefined;
  } catch {
    return undefined;
  }
}

/** Adds the default `User-Agent`; an own one wins. */
function headed(input: string | Request, init: RequestInit = {}): RequestInit {
  return headersOf(input, init).has("user-agent") ? init : withHeader(init, "user-agent", limitsOfCalls().userAgent, input);
}

function headersOf(input: string | Request, init: RequestInit): Headers {
  return new Headers(init.headers ?? (typeof input === "string" ? undefined : input.headers));
}

/** Adds a header, and leaves the headers in the form in which the handler gave them: mocks look at them. */
function withHeader(init: RequestInit, name: string, value: string, input?: string | Request): RequestInit {
  const { headers } = init;
  if (headers === undefined && typeof input === "object") {
    const copy = new Headers(input.headers);
    copy.set(name, value);
    return { ...init, headers: copy };
  }
  if (headers instanceof Headers) {
    const copy = new Headers(headers);
    copy.set(name, value);
    return { ...init, headers: copy };
  }
  if (Array.isArray(headers)) return { ...init, headers: [...headers, [name, value]] };
  return { ...init, headers: { ...headers, [name]: value } };
}

/** The next request, as the Fetch Standard has it. */
function redirected(init: RequestInit, target: string | Request, status: number, sameOrigin: boolean): RequestInit {
  const method = (init.method ?? (typeof target === "string" ? "GET" : target.method)).toUpperCase();
  const headers = headersOf(target, init);
  if (!sameOrigin) for (const name of CREDENTIALS) headers.delete(name);
  const becomesGet = (status === 303 && method !== "HEAD") || ((status === 301 || status === 302) && method === "POST");
  if (!becomesGet) return { ...init, method, headers };
  headers.delete("content-type");
  headers.delete("content-length");
  return { ...init, method: "GET", headers, body: null };
}
