// The IP addresses that a toolkit may reach.
import { BuildFailure } from "../build/failure.js";
import { permits, wrongRange } from "../rules.js";

/** Decides whether a resolved address may be reached. */
export class AddressGuard {
  readonly #opened: readonly string[];

  /** `opened` are the allowed private CIDR ranges. */
  constructor(opened: readonly string[]) {
    const wrong = wrongRange(opened);
    if (wrong !== undefined) throw new BuildFailure("usage", `${JSON.stringify(wrong)} is no range of addresses, such as 127.0.0.0/8`);
    this.#opened = opened;
  }

  permits(address: string): boolean {
    // The zone id of a link-local address (`%eth0`) does not matter.
    return permits(this.#opened, address.replace(/%.*$/, ""));
  }
}
