// Requests in tests: applies the allowlist, signs in, and follows redirects as the host does.
import type { FetchImplementation } from "../define.js";
import { allows, limitsOfCalls, type SignInCause, type TokenProblem } from "../rules.js";
import { notListed } from "../texts.js";
import type { OAuth2ClientCredentials, ToolkitConfig } from "../types.js";
import { encodingsToAccept, readableInSandbox } from "./encodings.js";
import { headersOf, withHeader, withoutIgnoredHeaders } from "./request-headers.js";
import type { Trace } from "./world.js";

const REDIRECT_STATUSES = [301, 302, 303, 307, 308];
/** Headers that are removed when a redirect leads to another origin. */
const CREDENTIAL_HEADERS = ["authorization", "cookie", "proxy-authorization"];

/** Sends the requests of one call. */
export class Network {
  /** The newest access token. */
  #token: Promise<string> | undefined;
  /** Values of `Authorization` that were added here, not by the handler. */
  readonly #attachedAuthorizations = new Set<string>();

  constructor(
    readonly config: ToolkitConfig,
    readonly secrets: Record<string, string>,
    readonly fetchImpl: FetchImplementation | undefined,
    readonly trace: Trace,
  ) {}

  /**
   * Sends a request, with an access token if the declaration has an `auth` for its host, and follows
   * redirects unless the request says otherwise.
   */
  async fetch(input: string | Request, init: RequestInit | undefined): Promise<Response> {
    const first = new URL(typeof input === "string" ? input : input.url);
    const mode = init?.redirect ?? (typeof input === "string" ? "follow" : input.redirect);
    const allowed = withoutIgnoredHeaders(input, init);
    let [target, request] = [input, await this.#signIn(first, withUserAgent(input, allowed), input)];
    let url = first;
    for (let followed = 0; followed <= limitsOfCalls().redirects; followed += 1) {
      const response = await this.#retryWithNewToken(url, target, request, await this.#send(url, target, request));
      const location = REDIRECT_STATUSES.includes(response.status) ? response.headers.get("location") : null;
      if (location === null || mode === "manual") return withUrl(url, followed > 0, response);
      if (mode === "error") throw new TypeError('network error: the answer is a redirect, and the request has redirect: "error"');
      const next = new URL(location, url);
      if (url.protocol === "https:" && next.protocol !== "https:") throw new TypeError("it leads from https to http");
      request = redirectedInit(request, target, response.status, url.origin === next.origin);
      [url, target] = [next, next.href];
    }
    throw new TypeError("too many redirects");
  }

  async #send(url: URL, target: string | Request, init: RequestInit): Promise<Response> {
    if (!allows(this.config.egress ?? [], url)) throw new TypeError(notListed(url));
    const method = (init.method ?? (typeof target === "string" ? "GET" : target.method)).toUpperCase();
    this.trace.requests.push({ method, url: url.href });
    if (this.fetchImpl !== undefined) return this.fetchImpl(target, init);
    // Node.js requires `duplex` for streams; the sandbox does not, and neither do the types that authors see.
    const streams = init.body instanceof ReadableStream && { duplex: "half" };
    const encodings = encodingsToAccept(headersOf(target, init));
    const sent = encodings === undefined ? init : withHeader(init, "accept-encoding", encodings, target);
    return readableInSandbox(await fetch(target, { ...sent, ...streams, redirect: "manual" } as RequestInit));
  }

  /** Adds the access token of a declared `auth`. */
  async #signIn(url: URL, init: RequestInit, input: string | Request): Promise<RequestInit> {
    const { auth } = this.config;
    if (auth === undefined || !allows([auth.apiHost], url)) return init;
    if (headersOf(input, init).has("authorization")) return init;
    const { [auth.clientIdSecret]: id, [auth.clientSecretSecret]: secret } = this.secrets;
    if (id === undefined || secret === undefined) {
      const names = [auth.clientIdSecret, auth.clientSecretSecret].filter((name) => this.secrets[name] === undefined);
      throw this.#failed({ cause: "missing-credentials", toolkit: this.config.id, names });
    }
    this.#token ??= this.#requestToken(auth, id, secret);
    const bearer = `Bearer ${await this.#token}`;
    this.#attachedAuthorizations.add(bearer);
    return withHeader(init, "authorization", bearer);
  }

  /** Repeats a request once with a new token if its token was refused, unless its body has been consumed. */
  async #retryWithNewToken(url: URL, target: string | Request, init: RequestInit, response: Response): Promise<Response> {
    if (response.status !== 401 && response.status !== 403) return response;
    const refused = headersOf(target, init).get("authorization") ?? "";
    if (!this.#attachedAuthorizations.has(refused)) return response;
    if (init.body instanceof ReadableStream || (typeof target === "object" && target.bodyUsed)) return response;
    const { auth } = this.config;
    const { [auth!.clientIdSecret]: id, [auth!.clientSecretSecret]: secret } = this.secrets;
    const current = this.#token;
    const isCurrent = refused === `Bearer ${await current}`;
    // Another refused request may already have requested the new token.
    if (isCurrent && current === this.#token) this.#token = this.#requestToken(auth!, id!, secret!);
    let token: string;
    try {
      token = await this.#token!;
    } catch {
      // Without a new token, the API's response is returned.
      delete this.trace.signIn;
      return response;
    }
    await response.body?.cancel();
    return this.#send(url, target, withHeader(init, "authorization", `Bearer ${token}`));
  }

  /** Requests a token. If that fails, the next request tries again. */
  #requestToken(auth: OAuth2ClientCredentials, id: string, secret: string): Promise<string> {
    const token = this.#fetchToken(auth, id, secret);
    token.catch(() => {
      if (this.#token === token) this.#token = undefined;
    });
    return token;
  }

  /** Requests a token from the token endpoint (RFC 6749, section 4.4). */
  async #fetchToken(auth: OAuth2ClientCredentials, id: string, secret: string): Promise<string> {
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
    const unusable = (problem: TokenProblem) => this.#failed({ cause: "unusable-token", host, problem });
    if (typeof token !== "string") throw unusable("no-token");
    // Section 5.1 requires token_type, but many servers omit it, and only Bearer is supported.
    if (String(type).toLowerCase() !== "bearer") throw unusable("not-bearer");
    if (!/^[!-~]+$/.test(token)) throw unusable("not-a-header-value");
    return token;
  }

  /**
   * Records why the sign-in failed: that becomes the reply, whatever the handler makes of the network error.
   */
  #failed(cause: SignInCause): TypeError {
    this.trace.signIn = cause;
    return new TypeError("the host could not sign in");
  }
}

/** Encodes a client ID or secret for HTTP Basic authentication (RFC 6749, section 2.3.1). */
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

/** Adds the default `User-Agent` unless the request has one. */
function withUserAgent(input: string | Request, init: RequestInit = {}): RequestInit {
  return headersOf(input, init).has("user-agent") ? init : withHeader(init, "user-agent", limitsOfCalls().userAgent, input);
}

/** Makes a response say where it comes from: each hop was a request of its own, and that of a test has no URL. */
function withUrl(url: URL, redirected: boolean, response: Response): Response {
  const own = (value: unknown) => ({ value, configurable: true });
  try {
    return Object.defineProperties(response, { url: own(url.href.split("#", 1)[0]), redirected: own(redirected) });
  } catch {
    // A test made it so that it stays as it is.
    return response;
  }
}

/** Returns the options of the request that follows a redirect (Fetch Standard, HTTP-redirect fetch). */
function redirectedInit(init: RequestInit, target: string | Request, status: number, sameOrigin: boolean): RequestInit {
  const method = (init.method ?? (typeof target === "string" ? "GET" : target.method)).toUpperCase();
  const headers = headersOf(target, init);
  if (!sameOrigin) for (const name of CREDENTIAL_HEADERS) headers.delete(name);
  const becomesGet = (status === 303 && method !== "HEAD") || ((status === 301 || status === 302) && method === "POST");
  if (!becomesGet) return { ...init, method, headers };
  headers.delete("content-type");
  return { ...init, method: "GET", headers, body: null };
}
