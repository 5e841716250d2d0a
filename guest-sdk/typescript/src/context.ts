import { allows, entryFor } from "#handler-rules";

import { asker } from "./ask.js";
import { cacheClient } from "./cache.js";
import { withCallerStack } from "./caller-stack.js";
import { fetchJson } from "./fetch-json.js";
import { knowledgeClient } from "./knowledge.js";
import { logArgument } from "./log.js";
import type { Invocation, Platform } from "./platform.js";
import { checkedRequest, signalOf } from "./request-check.js";
import { urlOf } from "./request-url.js";
import { credentialNotSet, credentialUndeclared, notListed } from "./texts.js";
import { ToolError } from "./tool-error.js";
import type { FetchInit, ToolContext, ToolkitConfig } from "./types.js";

/** Creates the `ToolContext` of one call. */
export function makeContext(toolkit: ToolkitConfig, invocation: Invocation, platform: Platform): ToolContext {
  const secrets = toolkit.secrets ?? [];
  const egress = toolkit.egress ?? [];

  const secret = async (name: string): Promise<string | undefined> => {
    if (!secrets.includes(name)) {
      throw new Error(credentialUndeclared(name));
    }
    return platform.secret(name);
  };
  const fetch = async (input: string | URL | Request, options?: FetchInit): Promise<Response> => {
    const call = new Error();
    const init = options as RequestInit | undefined;
    const url = urlOf(input);
    const checked = checkedRequest(url, input, init);
    const target = input instanceof URL ? input.href : input;
    // With a non-empty `egress` the host refuses unlisted hosts. With an empty one the component does not
    // import `wasi:http` at all, so such a request would never reach the host: it is refused here.
    if (egress.length === 0) {
      platform.log([logArgument(`fetch: ${notListed(url)}`)]);
      throw new TypeError(`network error: ${notListed(url)}`);
    }
    try {
      return await platform.fetch(target, checked);
    } catch (error) {
      // An aborted request rejects with the signal's reason, whatever value that is.
      const signal = signalOf(input, checked);
      throw signal?.aborted === true ? signal.reason : networkError(error, url, egress, call);
    }
  };
  const context: ToolContext = {
    userId: invocation.userId,
    config: Object.freeze(invocation.config),
    secret,
    requireSecret: async (name) => {
      const value = await secret(name);
      if (value !== undefined) return value;
      throw new ToolError(credentialNotSet(toolkit.id, name));
    },
    fetch,
    fetchJson: ((url: string | URL | Request, options?: object) => fetchJson(fetch, url, options)) as ToolContext["fetchJson"],
    svc: knowledgeClient(toolkit.scopes ?? [], platform),
    ask: asker(toolkit.scopes ?? [], platform) as ToolContext["ask"],
    cache: cacheClient(toolkit.scopes ?? [], platform),
    log: (...args) => platform.log(args.map(logArgument)),
    progress: (report) => platform.progress(report),
  };
  return Object.freeze(context);
}

/**
 * Creates the error that `fetch` rejects with: the same in the sandbox and in a test, without details of the
 * machine.
 */
function networkError(error: unknown, url: URL, egress: readonly string[], call: Error): unknown {
  if (isAbort(error)) return error;
  const reason = !allows(egress, url) ? notListed(url) : `${entryFor(url)} cannot be reached`;
  return withCallerStack(new TypeError(`network error: ${reason}`, { cause: error }), call);
}

function isAbort(error: unknown): boolean {
  const name = (error as { name?: unknown } | null)?.name;
  return name === "AbortError" || name === "TimeoutError";
}
