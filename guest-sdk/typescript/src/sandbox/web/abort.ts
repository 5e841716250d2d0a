// AbortController and AbortSignal (DOM Standard, section 3).
import { setTimer } from "kitbag:host";

import { defineHandler, Event, EventTarget } from "./events.js";

let make: () => AbortSignal;
let abort: (signal: AbortSignal, reason: unknown) => void;
let addStep: (signal: AbortSignal, step: () => void) => () => void;

const NO_CONSTRUCTOR = Symbol("no constructor");

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason: unknown;
  /** Callbacks that run before the `abort` event is dispatched. */
  #steps: Set<() => void> | undefined;

  declare onabort: ((event: Event) => unknown) | null;

  static {
    make = () => new AbortSignal(NO_CONSTRUCTOR);
    abort = (signal, reason) => {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
      const steps = signal.#steps;
      signal.#steps = undefined;
      if (steps !== undefined) for (const step of steps) step();
      signal.dispatchEvent(new Event("abort"));
    };
    addStep = (signal, step) => {
      (signal.#steps ??= new Set()).add(step);
      return () => signal.#steps?.delete(step);
    };
  }

  constructor(permission?: unknown) {
    if (permission !== NO_CONSTRUCTOR) throw new TypeError("Illegal constructor");
    super();
  }

  static abort(reason?: unknown): AbortSignal {
    const signal = make();
    abort(signal, reason);
    return signal;
  }

  static timeout(milliseconds: number): AbortSignal {
    const delay = Number(milliseconds);
    if (!(delay >= 0 && delay <= Number.MAX_SAFE_INTEGER)) throw new RangeError("AbortSignal.timeout: the delay is out of range");
    const signal = make();
    setTimer(
      () => abort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      Math.trunc(delay),
    );
    return signal;
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const sources = [...signals];
    for (const source of sources) {
      if (!(source instanceof AbortSignal)) throw new TypeError("AbortSignal.any: this is not an AbortSignal");
    }
    const signal = make();
    const stopped = sources.find(({ aborted }) => aborted);
    if (stopped !== undefined) {
      abort(signal, stopped.reason);
      return signal;
    }
    const removals = sources.map((source) =>
      addStep(source, () => {
        for (const remove of removals) remove();
        abort(signal, source.reason);
      }),
    );
    return signal;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }
}

defineHandler(AbortSignal.prototype, "abort");

export class AbortController {
  /** Created on first access. */
  #signal: AbortSignal | undefined;

  get signal(): AbortSignal {
    return (this.#signal ??= make());
  }

  abort(reason?: unknown): void {
    abort(this.signal, reason);
  }
}

/** Registers a callback that runs before the signal's listeners. Returns a function that removes it. */
export function onAbort(signal: AbortSignal, step: () => void): () => void {
  return addStep(signal, step);
}
