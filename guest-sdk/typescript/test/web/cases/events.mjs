// Event, EventTarget, AbortController, AbortSignal, and messages.
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const reason = (error) => [error.name, error.code, error instanceof DOMException];
const caught = (action) => {
  try {
    return action();
  } catch (error) {
    return { threw: error?.name ?? error };
  }
};

export default {
  "an event's members": () => {
    const event = new Event("x", { bubbles: true, cancelable: 1 });
    return [
      event.type,
      event.bubbles,
      event.cancelable,
      event.composed,
      event.defaultPrevented,
      event.eventPhase,
      event.target,
      event.currentTarget,
      event.composedPath(),
      event.returnValue,
      event.cancelBubble,
    ];
  },
  "an event's constants": () => [Event.NONE, Event.CAPTURING_PHASE, Event.AT_TARGET, Event.BUBBLING_PHASE],
  "an event's time": () => typeof new Event("x").timeStamp,
  "an event wants a type": () => new Event(),
  "any type becomes text": () => [new Event(5).type, new Event(null).type, new Event(undefined).type],
  tags: () =>
    [new Event("x"), new EventTarget(), new CustomEvent("x"), new AbortController(), new AbortController().signal].map((it) =>
      Object.prototype.toString.call(it),
    ),
  "a listener hears": () => {
    const target = new EventTarget();
    const heard = [];
    target.addEventListener("x", function (event) {
      heard.push(
        event.type,
        this === target,
        event.target === target,
        event.currentTarget === target,
        event.eventPhase,
        event.composedPath().length,
      );
    });
    const event = new Event("x");
    return [target.dispatchEvent(event), heard, event.target === target, event.currentTarget, event.eventPhase];
  },
  "listeners are called in their order": () => {
    const target = new EventTarget();
    const heard = [];
    for (const name of ["a", "b", "c"]) target.addEventListener("x", () => heard.push(name));
    target.dispatchEvent(new Event("x"));
    return heard;
  },
  "other types are not heard": () => {
    const target = new EventTarget();
    let heard = 0;
    target.addEventListener("x", () => (heard += 1));
    target.dispatchEvent(new Event("y"));
    return heard;
  },
  "a listener is added once": () => {
    const target = new EventTarget();
    let heard = 0;
    const listener = () => (heard += 1);
    target.addEventListener("x", listener);
    target.addEventListener("x", listener);
    target.addEventListener("x", listener, { once: true });
    target.addEventListener("x", listener, true);
    target.dispatchEvent(new Event("x"));
    return heard;
  },
  "an object may listen": () => {
    const target = new EventTarget();
    const heard = [];
    const listener = {
      handleEvent(event) {
        heard.push(event.type, this === listener);
      },
    };
    target.addEventListener("x", listener);
    target.dispatchEvent(new Event("x"));
    return heard;
  },
  once: () => {
    const target = new EventTarget();
    let heard = 0;
    target.addEventListener("x", () => (heard += 1), { once: true });
    target.dispatchEvent(new Event("x"));
    target.dispatchEvent(new Event("x"));
    return heard;
  },
  removeEventListener: () => {
    const target = new EventTarget();
    let heard = 0;
    const listener = () => (heard += 1);
    target.addEventListener("x", listener);
    target.removeEventListener("x", listener, { capture: true });
    target.dispatchEvent(new Event("x"));
    target.removeEventListener("x", listener);
    target.removeEventListener("x", listener);
    target.dispatchEvent(new Event("x"));
    return heard;
  },
  "a listener that is removed meanwhile is not called": () => {
    const target = new EventTarget();
    const heard = [];
    const second = () => heard.push("second");
    target.addEventListener("x", () => {
      heard.push("first");
      target.removeEventListener("x", second);
      target.addEventListener("x", () => heard.push("third"));
    });
    target.addEventListener("x", second);
    target.dispatchEvent(new Event("x"));
    return heard;
  },
  "a signal removes": () => {
    const target = new EventTarget();
    const control = new AbortController();
    let heard = 0;
    target.addEventListener("x", () => (heard += 1), { signal: control.signal });
    target.dispatchEvent(new Event("x"));
    control.abort();
    target.dispatchEvent(new Event("x"));
    target.addEventListener("x", () => (heard += 1), { signal: AbortSignal.abort() });
    target.dispatchEvent(new Event("x"));
    return heard;
  },
  preventDefault: () => {
    const target = new EventTarget();
    target.addEventListener("x", (event) => event.preventDefault());
    const event = new Event("x", { cancelable: true });
    return [target.dispatchEvent(event), event.defaultPrevented, target.dispatchEvent(new Event("x"))];
  },
  // Node.js lets a passive listener prevent the default.
  "preventDefault in a passive listener": {
    expected: true,
    run: () => {
      const target = new EventTarget();
      target.addEventListener("x", (event) => event.preventDefault(), { passive: true });
      return target.dispatchEvent(new Event("x", { cancelable: true }));
    },
  },
  stopImmediatePropagation: () => {
    const target = new EventTarget();
    const heard = [];
    target.addEventListener("x", (event) => (heard.push("a"), event.stopImmediatePropagation()));
    target.addEventListener("x", () => heard.push("b"));
    target.dispatchEvent(new Event("x"));
    return heard;
  },
  "an event that is dispatched cannot be again": () => {
    const target = new EventTarget();
    const results = [];
    target.addEventListener(
      "x",
      (event) => {
        try {
          target.dispatchEvent(event);
        } catch (error) {
          results.push("threw");
        }
      },
      { once: true },
    );
    const event = new Event("x");
    target.dispatchEvent(event);
    return [results, target.dispatchEvent(event)];
  },
  "dispatchEvent wants an event": () => new EventTarget().dispatchEvent({ type: "x" }),
  "addEventListener of nothing": () =>
    [new EventTarget().addEventListener("x", null), new EventTarget().addEventListener("x", undefined)].length,
  "subclasses of EventTarget": () => {
    class Own extends EventTarget {
      heard = 0;
    }
    const own = new Own();
    own.addEventListener("x", () => (own.heard += 1));
    own.dispatchEvent(new (class extends Event {})("x"));
    return own.heard;
  },
  CustomEvent: () => {
    const event = new CustomEvent("x", { detail: { a: 1 }, cancelable: true });
    return [event.detail, event.type, event.cancelable, new CustomEvent("y").detail, event instanceof Event];
  },
  ErrorEvent: {
    expected: ["m", "f", 1, 2, "e", ""],
    run: () => {
      const event = new ErrorEvent("error", { message: "m", filename: "f", lineno: 1, colno: 2, error: "e" });
      return [event.message, event.filename, event.lineno, event.colno, event.error, new ErrorEvent("error").message];
    },
  },
  MessageEvent: () => {
    const event = new MessageEvent("message", { data: [1], origin: "o", lastEventId: "7" });
    return [event.data, event.origin, event.lastEventId, event.ports, new MessageEvent("message").data];
  },
  abort: () => {
    const control = new AbortController();
    const heard = [];
    control.signal.addEventListener("abort", (event) => heard.push("listener", event.type));
    control.signal.onabort = () => heard.push("handler");
    const before = [control.signal.aborted, control.signal.reason ?? null];
    control.abort();
    control.abort("again");
    return [before, heard, control.signal.aborted, reason(control.signal.reason)];
  },
  "abort with a reason": () => {
    const control = new AbortController();
    control.abort(0);
    return [control.signal.reason, caught(() => control.signal.throwIfAborted())];
  },
  "the signal is aborted when listeners are called": () => {
    const control = new AbortController();
    return new Promise((resolve) => {
      control.signal.addEventListener("abort", () => resolve([control.signal.aborted, control.signal.reason]));
      control.abort("why");
    });
  },
  "a handler can be taken away": () => {
    const { signal } = new AbortController();
    const before = signal.onabort;
    signal.onabort = () => {};
    const present = typeof signal.onabort;
    signal.onabort = null;
    return [before, present, signal.onabort];
  },
  "a controller's signal is always the same": () => {
    const control = new AbortController();
    return control.signal === control.signal && control.signal instanceof AbortSignal;
  },
  "a signal has no constructor": () => new AbortSignal(),
  "AbortSignal.abort": () => [AbortSignal.abort().aborted, reason(AbortSignal.abort().reason), AbortSignal.abort(7).reason],
  throwIfAborted: () => {
    new AbortController().signal.throwIfAborted();
    AbortSignal.abort(new RangeError("x")).throwIfAborted();
  },
  "AbortSignal.timeout": async () => {
    const signal = AbortSignal.timeout(5);
    const before = signal.aborted;
    await wait(30);
    return [before, signal.aborted, reason(signal.reason)];
  },
  "AbortSignal.timeout calls listeners": () =>
    new Promise((resolve) => {
      const signal = AbortSignal.timeout(1);
      signal.onabort = () => resolve(signal.reason.name);
    }),
  "AbortSignal.timeout of less than nothing": () => AbortSignal.timeout(-1),
  "AbortSignal.any": () => {
    const [a, b] = [new AbortController(), new AbortController()];
    const any = AbortSignal.any([a.signal, b.signal]);
    let heard = 0;
    any.addEventListener("abort", () => (heard += 1));
    const before = any.aborted;
    b.abort("b");
    a.abort("a");
    return [before, any.aborted, any.reason, heard];
  },
  "AbortSignal.any of an aborted one": () => AbortSignal.any([new AbortController().signal, AbortSignal.abort("x")]).reason,
  "AbortSignal.any of none": () => AbortSignal.any([]).aborted,
  "AbortSignal.any of any": () => {
    const control = new AbortController();
    const any = AbortSignal.any([AbortSignal.any([control.signal])]);
    control.abort(1);
    return any.reason;
  },
  "AbortSignal.any of what is no signal": () => AbortSignal.any([{}]),
  "AbortSignal.any of no list": () => AbortSignal.any(5),
  DOMException: () => {
    const error = new DOMException("m", "NotFoundError");
    return [
      error.name,
      error.message,
      error.code,
      String(error),
      error instanceof Error,
      new DOMException().name,
      new DOMException("x").name,
      DOMException.NOT_FOUND_ERR,
      Object.prototype.toString.call(error),
    ];
  },
  "a MessageChannel": () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      const heard = [];
      port2.onmessage = ({ data }) => {
        heard.push(data);
        if (heard.length < 2) return;
        port1.close();
        resolve(heard);
      };
      port1.postMessage({ a: [1] });
      port1.postMessage("two");
    }),
  "messages are copies": () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      const sent = { a: 1 };
      port2.onmessage = ({ data }) => {
        port1.close();
        resolve([data, data === sent]);
      };
      port1.postMessage(sent);
      sent.a = 2;
    }),
  // In Node.js a listener starts the port.
  "messages wait for start": {
    expected: [0, [1]],
    run: async () => {
      const { port1, port2 } = new MessageChannel();
      const heard = [];
      port2.addEventListener("message", ({ data }) => heard.push(data));
      port1.postMessage(1);
      await wait(20);
      const before = heard.length;
      port2.start();
      await wait(20);
      port1.close();
      return [before, heard];
    },
  },
  "messages come later": () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      const order = [];
      port2.onmessage = () => {
        order.push("message");
        port1.close();
        resolve(order);
      };
      port1.postMessage(1);
      order.push("now");
      Promise.resolve().then(() => order.push("microtask"));
    }),
  "a buffer is transferred": () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      const { buffer } = new Uint8Array([1, 2]);
      port2.onmessage = ({ data }) => {
        port1.close();
        resolve([[...new Uint8Array(data)], buffer.byteLength]);
      };
      port1.postMessage(buffer, [buffer]);
    }),
  "a function is no message": () => {
    const { port1 } = new MessageChannel();
    try {
      port1.postMessage(() => {});
    } finally {
      port1.close();
    }
  },
};
