// MessageChannel (HTML Standard, section 9.4), within one instance of the engine.
import { setTimer } from "kitbag:host";

import { defineHandler, EventTarget, MessageEvent } from "./events.js";
import { cloneWith, makeTransferable } from "./structured-clone.js";

let makePort: () => MessagePort;
let entangle: (a: MessagePort, b: MessagePort) => void;

const NO_CONSTRUCTOR = Symbol("no constructor");

export class MessagePort extends EventTarget {
  #other: MessagePort | undefined;
  /** Messages that have not been delivered; delivery begins with `start`. */
  #queue: MessageEvent[] = [];
  #started = false;
  #transferred = false;

  declare onmessage: ((event: MessageEvent) => unknown) | null;
  declare onmessageerror: ((event: MessageEvent) => unknown) | null;

  static {
    makeTransferable(MessagePort, (port) => (port as MessagePort).#move());
    makePort = () => new MessagePort(NO_CONSTRUCTOR);
    entangle = (a, b) => {
      a.#other = b;
      b.#other = a;
    };
  }

  constructor(permission?: unknown) {
    if (permission !== NO_CONSTRUCTOR) throw new TypeError("Illegal constructor");
    super();
  }

  postMessage(message: unknown, options?: Iterable<object> | { transfer?: Iterable<object> }): void {
    if (arguments.length === 0) throw new TypeError("postMessage: 1 argument required");
    const list = options !== undefined && options !== null && Symbol.iterator in options ? options : options?.transfer;
    const transfer = [...(list ?? [])];
    if (transfer.includes(this)) throw new DOMException("a port cannot be sent through itself", "DataCloneError");
    const { value: data, received } = cloneWith(message, transfer);
    const ports = received.filter((object) => object instanceof MessagePort);
    const target = this.#other;
    if (target === undefined) return;
    target.#queue.push(new MessageEvent("message", { data, ports }));
    if (target.#started) setTimer(() => target.#deliver(), 0);
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    for (let left = this.#queue.length; left > 0; left -= 1) setTimer(() => this.#deliver(), 0);
  }

  close(): void {
    const other = this.#other;
    this.#other = undefined;
    if (other !== undefined) other.#other = undefined;
  }

  #deliver(): void {
    const event = this.#queue.shift();
    if (event !== undefined) this.dispatchEvent(event);
  }

  /** Transfers this port: returns the new port for the receiver; undefined if it was already transferred. */
  #move(): MessagePort | undefined {
    if (this.#transferred) return undefined;
    const port = makePort();
    const other = this.#other;
    if (other !== undefined) entangle(port, other);
    port.#queue = this.#queue;
    this.#queue = [];
    this.#other = undefined;
    this.#transferred = true;
    return port;
  }
}

defineHandler(MessagePort.prototype, "message", (port) => (port as MessagePort).start());
defineHandler(MessagePort.prototype, "messageerror");

export class MessageChannel {
  readonly #port1 = makePort();
  readonly #port2 = makePort();

  constructor() {
    entangle(this.#port1, this.#port2);
  }

  get port1(): MessagePort {
    return this.#port1;
  }

  get port2(): MessagePort {
    return this.#port2;
  }
}
