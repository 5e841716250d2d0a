// Event and EventTarget (DOM Standard, section 2), and event classes that need no document.
import { monotonicNow } from "kitbag:host";

import { reportError } from "./report-error.js";

const NONE = 0;
const AT_TARGET = 2;

/** Dispatches an event to a target's listeners; returns false if one of them prevented the default. */
let dispatch: (event: Event, target: EventTarget, listeners: Listener[] | undefined) => boolean;

export class Event {
  readonly #type: string;
  readonly #bubbles: boolean;
  readonly #cancelable: boolean;
  readonly #composed: boolean;
  /** Set on first access, because the clock is not available while the component is built. */
  #timeStamp: number | undefined;
  #target: EventTarget | null = null;
  #current: EventTarget | null = null;
  #prevented = false;
  #stopped = false;
  #stoppedImmediately = false;
  #passive = false;
  #dispatching = false;

  static {
    dispatch = (event, target, listeners) => {
      if (event.#dispatching) throw new DOMException("The event is being dispatched already", "InvalidStateError");
      event.#dispatching = true;
      event.#target = event.#current = target;
      // Listeners that are added or removed during the dispatch are not called.
      if (listeners !== undefined && !event.#stopped) {
        for (const listener of listeners.slice()) {
          if (event.#stoppedImmediately) break;
          if (listener.removed || listener.type !== event.#type) continue;
          if (listener.once) target.removeEventListener(listener.type, listener.callback, listener.capture);
          event.#passive = listener.passive;
          try {
            const { callback } = listener;
            if (typeof callback === "function") callback.call(target, event);
            else callback.handleEvent(event);
          } catch (error) {
            reportError(error);
          }
          event.#passive = false;
        }
      }
      event.#current = null;
      event.#dispatching = event.#stopped = event.#stoppedImmediately = false;
      return !event.#prevented;
    };
  }

  constructor(type: string, init?: EventInit) {
    if (arguments.length === 0) throw new TypeError("Event: 1 argument required");
    this.#type = `${type}`;
    this.#bubbles = Boolean(init?.bubbles);
    this.#cancelable = Boolean(init?.cancelable);
    this.#composed = Boolean(init?.composed);
  }

  get type(): string {
    return this.#type;
  }

  get target(): EventTarget | null {
    return this.#target;
  }

  get srcElement(): EventTarget | null {
    return this.#target;
  }

  get currentTarget(): EventTarget | null {
    return this.#current;
  }

  get eventPhase(): number {
    return this.#dispatching ? AT_TARGET : NONE;
  }

  get bubbles(): boolean {
    return this.#bubbles;
  }

  get cancelable(): boolean {
    return this.#cancelable;
  }

  get composed(): boolean {
    return this.#composed;
  }

  get defaultPrevented(): boolean {
    return this.#prevented;
  }

  get returnValue(): boolean {
    return !this.#prevented;
  }

  get isTrusted(): boolean {
    return false;
  }

  get timeStamp(): number {
    return (this.#timeStamp ??= monotonicNow());
  }

  get cancelBubble(): boolean {
    return this.#stopped;
  }

  set cancelBubble(value: boolean) {
    if (value) this.#stopped = true;
  }

  composedPath(): EventTarget[] {
    return this.#dispatching && this.#target !== null ? [this.#target] : [];
  }

  preventDefault(): void {
    if (this.#cancelable && !this.#passive) this.#prevented = true;
  }

  stopPropagation(): void {
    this.#stopped = true;
  }

  stopImmediatePropagation(): void {
    this.#stopped = this.#stoppedImmediately = true;
  }
}

for (const [name, value] of Object.entries({ NONE, CAPTURING_PHASE: 1, AT_TARGET, BUBBLING_PHASE: 3 })) {
  Object.defineProperty(Event, name, { value, enumerable: true });
  Object.defineProperty(Event.prototype, name, { value, enumerable: true });
}

export class CustomEvent<T = unknown> extends Event {
  readonly #detail: T | null;

  constructor(type: string, init?: CustomEventInit<T>) {
    super(type, init);
    this.#detail = init?.detail ?? null;
  }

  get detail(): T | null {
    return this.#detail;
  }
}

export class ErrorEvent extends Event {
  readonly #init: ErrorEventInit;

  constructor(type: string, init?: ErrorEventInit) {
    super(type, init);
    this.#init = { ...init };
  }

  get message(): string {
    return `${this.#init.message ?? ""}`;
  }

  get filename(): string {
    return `${this.#init.filename ?? ""}`;
  }

  get lineno(): number {
    return this.#init.lineno ?? 0;
  }

  get colno(): number {
    return this.#init.colno ?? 0;
  }

  get error(): unknown {
    return this.#init.error;
  }
}

interface MessageInit extends EventInit {
  data?: unknown;
  origin?: string;
  lastEventId?: string;
  source?: unknown;
  ports?: unknown[];
}

export class MessageEvent extends Event {
  readonly #init: MessageInit;

  constructor(type: string, init?: MessageInit) {
    super(type, init);
    this.#init = { ...init };
  }

  get data(): unknown {
    return this.#init.data ?? null;
  }

  get origin(): string {
    return `${this.#init.origin ?? ""}`;
  }

  get lastEventId(): string {
    return `${this.#init.lastEventId ?? ""}`;
  }

  get source(): unknown {
    return this.#init.source ?? null;
  }

  get ports(): readonly unknown[] {
    return Object.freeze([...(this.#init.ports ?? [])]);
  }
}

type Callback = ((event: Event) => unknown) | { handleEvent(event: Event): unknown };

interface Listener {
  readonly type: string;
  readonly callback: Callback;
  readonly capture: boolean;
  readonly once: boolean;
  readonly passive: boolean;
  removed: boolean;
}

interface ListenerOptions {
  capture?: boolean;
  once?: boolean;
  passive?: boolean;
  signal?: { readonly aborted: boolean; addEventListener: EventTarget["addEventListener"] };
}

export class EventTarget {
  /** Created with the first listener; most targets never have one. */
  #listeners: Listener[] | undefined;

  addEventListener(type: string, callback: Callback | null, options?: boolean | ListenerOptions): void {
    if (arguments.length < 2) throw new TypeError("addEventListener: 2 arguments required");
    const { capture = false, once = false, passive = false, signal } = flattened(options);
    if (signal === null) throw new TypeError("addEventListener: the signal is not an AbortSignal");
    if (callback === null || callback === undefined || signal?.aborted === true) return;
    if (typeof callback !== "function" && typeof callback !== "object") {
      throw new TypeError("addEventListener: the callback is neither a function nor an object");
    }
    const name = `${type}`;
    this.#listeners ??= [];
    if (this.#find(name, callback, capture) !== -1) return;
    this.#listeners.push({
      type: name,
      callback,
      capture: Boolean(capture),
      once: Boolean(once),
      passive: Boolean(passive),
      removed: false,
    });
    signal?.addEventListener("abort", () => this.removeEventListener(name, callback, capture), { once: true });
  }

  removeEventListener(type: string, callback: Callback | null, options?: boolean | ListenerOptions): void {
    if (arguments.length < 2) throw new TypeError("removeEventListener: 2 arguments required");
    const at = this.#find(`${type}`, callback, flattened(options).capture ?? false);
    if (at === -1) return;
    const [listener] = this.#listeners!.splice(at, 1);
    listener!.removed = true;
  }

  dispatchEvent(event: Event): boolean {
    if (!(event instanceof Event)) throw new TypeError("dispatchEvent: this is not an Event");
    return dispatch(event, this, this.#listeners);
  }

  #find(type: string, callback: Callback | null, capture: boolean): number {
    const listeners = this.#listeners ?? [];
    return listeners.findIndex((it) => it.type === type && it.callback === callback && it.capture === Boolean(capture));
  }
}

function flattened(options: boolean | ListenerOptions | null | undefined): ListenerOptions {
  return typeof options === "object" && options !== null ? options : { capture: Boolean(options) };
}

/** Defines the event handler attribute `on{type}`; `changed` is called after each assignment. */
export function defineHandler(prototype: EventTarget, type: string, changed?: (target: EventTarget) => void): void {
  const handlers = new WeakMap<EventTarget, { callback: unknown; listener: (event: Event) => void }>();
  Object.defineProperty(prototype, `on${type}`, {
    get(this: EventTarget) {
      return handlers.get(this)?.callback ?? null;
    },
    set(this: EventTarget, callback: unknown) {
      const present = handlers.get(this);
      if (typeof callback !== "function") {
        if (present !== undefined) this.removeEventListener(type, present.listener);
        handlers.delete(this);
      } else if (present !== undefined) {
        present.callback = callback;
      } else {
        const handler = {
          callback: callback as unknown,
          listener: (event: Event): void => void (handler.callback as (event: Event) => void).call(this, event),
        };
        handlers.set(this, handler);
        this.addEventListener(type, handler.listener);
      }
      changed?.(this);
    },
    enumerable: true,
    configurable: true,
  });
}
