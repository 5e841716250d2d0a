// Which addresses a toolkit may reach, whatever name led to them.
import { BuildFailure } from "../build/failure.js";
import { permits, wrongRange } from "../rules.js";

/** Decides about resolved addresses. */
export class AddressGuard {
  readonly #opened: readonly string[];

  /** Ranges that may be reached although they are private. */
  constructor(opened: readonly string[]) {
    const wrong = wrongRange(opened);
    if (wrong !== undefined) throw new BuildFailure("usage", `${JSON.stringify(wrong)} is no range of addresses, such as 127.0.0.0/8`);
    this.#opened = opened;
  }

  permits(address: string): boolean {
    // Which interface a link-local address is on makes no difference.
    return permits(this.#opened, address.replace(/%.*$/, ""));
  }
}
