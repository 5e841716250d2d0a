// Which addresses a toolkit may reach, whatever name led to them: the table of the server
// (host/src/egress/guard.rs).
import { BlockList, isIP, isIPv6 } from "node:net";

import { BuildFailure } from "../build/failure.js";

const REFUSED_V4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  ...["198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];
const GLOBAL_UNICAST = ["2000::/3"];
const REFUSED_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/** Decides about resolved addresses. */
export class AddressGuard {
  readonly #refused = ranges([...REFUSED_V4, ...REFUSED_V6]);
  readonly #global = ranges(GLOBAL_UNICAST);
  readonly #allowed: BlockList;

  /** Ranges of `allowed` win over every refusal. */
  constructor(allowed: readonly string[]) {
    this.#allowed = ranges(allowed);
  }

  permits(text: string): boolean {
    const address = canonical(text);
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (this.#allowed.check(address, family)) return true;
    return !this.#refused.check(address, family) && (family === "ipv4" || this.#global.check(address, family));
  }
}

/** An IPv4-mapped address is judged as the IPv4 address that the system would connect to. */
function canonical(address: string): string {
  if (!isIPv6(address)) return address;
  // The URL parser knows every spelling, and has one.
  const spelled = new URL(`http://[${address.replace(/%.*$/, "")}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(spelled);
  if (mapped === null) return spelled;
  const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

function ranges(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = "", prefix] = text.split("/");
    const family = isIP(address);
    const bits = Number(prefix ?? (family === 6 ? 128 : 32));
    if (family === 0 || !Number.isInteger(bits) || bits < 0 || bits > (family === 6 ? 128 : 32)) {
      throw new BuildFailure("usage", `${JSON.stringify(text)} is no range of addresses, such as 127.0.0.0/8`);
    }
    list.addSubnet(address, bits, family === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
