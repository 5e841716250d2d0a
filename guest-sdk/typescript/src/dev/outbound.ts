// The requests of handlers on their way out: the declaration's hosts, at addresses that anybody can reach.
import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";

import { Agent, fetch } from "undici";

import { notListed } from "../request-url.js";
import { allows, limitsOfCalls } from "../rules.js";
import { AddressGuard } from "./addresses.js";

const RESPONSE_TIMEOUT_MS = 60_000;

/** A request as a thread asks for it. */
export interface OutboundRequest {
  url: string;
  method: string;
  headers: [string, string][];
  body: Uint8Array | null;
}

/** Sends what a declaration lets through. */
export class Outbound {
  readonly #guard: AddressGuard;
  readonly #agent: Agent;

  /** `allowedRanges` may be reached although they are not public. */
  constructor(allowedRanges: readonly string[]) {
    this.#guard = new AddressGuard(allowedRanges);
    this.#agent = new Agent({
      connect: { lookup: guarded(this.#guard), timeout: limitsOfCalls().connectTimeout },
      headersTimeout: RESPONSE_TIMEOUT_MS,
      keepAliveTimeout: 1_000,
    });
  }

  /** Redirects are answers like any other: whoever follows one comes back here. */
  async send(egress: readonly string[], { url, method, headers, body }: OutboundRequest, signal: AbortSignal) {
    const target = new URL(url);
    if (!allows(egress, target)) throw new TypeError(notListed(target));
    // An address is not looked up, and would pass by the guard there.
    const host = target.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !this.#guard.permits(host)) throw refused(host);
    return fetch(target, { method, headers, body, signal, redirect: "manual", dispatcher: this.#agent });
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** What a name leads to is judged where the connection is about to be opened: it cannot change in between. */
function guarded(guard: AddressGuard): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "", 0);
      const permitted = found.filter(({ address }) => guard.permits(address));
      const first = permitted[0];
      if (first === undefined) return callback(refused(found.map(({ address }) => address).join(", ")), "", 0);
      if (options.all === true) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
  };
}

function refused(address: string): TypeError {
  return new TypeError(`${address} is not a public address (--allow-private-ranges lets it through)`);
}
