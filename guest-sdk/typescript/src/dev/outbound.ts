// Sends the requests of handlers: to hosts that the declaration lists, at public addresses.
import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";

import { Agent, fetch } from "undici";

import { encodingsToAccept } from "../local/encodings.js";
import { allows, limitsOfCalls } from "../rules.js";
import { notListed } from "../texts.js";
import { AddressGuard } from "./addresses.js";

const RESPONSE_TIMEOUT_MS = 60_000;

/** A request of a thread. */
export interface OutboundRequest {
  url: string;
  method: string;
  headers: [string, string][];
  body: Uint8Array | null;
}

/** Sends requests that a declaration allows. */
export class Outbound {
  readonly #guard: AddressGuard;
  readonly #agent: Agent;

  /** `allowedRanges` are private CIDR ranges that may be reached. */
  constructor(allowedRanges: readonly string[]) {
    this.#guard = new AddressGuard(allowedRanges);
    this.#agent = new Agent({
      connect: { lookup: guardedLookup(this.#guard), timeout: limitsOfCalls().connectTimeout },
      headersTimeout: RESPONSE_TIMEOUT_MS,
      keepAliveTimeout: 1_000,
    });
  }

  /**
   * Sends a request. A redirect is returned as a response; the caller follows it with another call of `send`.
   */
  async send(egress: readonly string[], { url, method, headers, body }: OutboundRequest, signal: AbortSignal) {
    const target = new URL(url);
    if (!allows(egress, target)) throw new TypeError(notListed(target));
    // An IP address in the URL is not looked up, so `guardedLookup` would not see it.
    const host = target.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !this.#guard.permits(host)) throw refused(host);
    const encodings = encodingsToAccept(new Headers(headers));
    const sent: [string, string][] = encodings === undefined ? headers : [...headers, ["accept-encoding", encodings]];
    return fetch(target, { method, headers: sent, body, signal, redirect: "manual", dispatcher: this.#agent });
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/**
 * Returns a DNS lookup that yields only permitted addresses. The connection uses its result, so the address
 * cannot change between check and use.
 */
function guardedLookup(guard: AddressGuard): LookupFunction {
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
