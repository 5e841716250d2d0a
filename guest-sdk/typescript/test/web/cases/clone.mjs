// structuredClone.
const failure = (value, options) => {
  try {
    return structuredClone(value, options);
  } catch (error) {
    return [error.name, error.code, error instanceof DOMException];
  }
};

export default {
  primitives: () => [
    structuredClone(1),
    structuredClone("a"),
    structuredClone(null),
    structuredClone(true),
    String(structuredClone(5n)),
    structuredClone(undefined) === undefined,
    Object.is(structuredClone(-0), -0),
    Number.isNaN(structuredClone(NaN)),
  ],
  "objects and lists": () => {
    const value = { a: [1, { b: null }], c: undefined };
    const copy = structuredClone(value);
    return [copy, copy !== value, copy.a !== value.a, "c" in copy];
  },
  "holes and members of lists": () => {
    const list = [1, , 3];
    list.own = "x";
    const copy = structuredClone(list);
    return [copy.length, 1 in copy, copy.own, copy];
  },
  circles: () => {
    const value = { list: [] };
    value.self = value;
    value.list.push(value);
    const copy = structuredClone(value);
    return [copy.self === copy, copy.list[0] === copy, copy !== value];
  },
  "the same twice": () => {
    const inner = {};
    const copy = structuredClone([inner, inner]);
    return copy[0] === copy[1];
  },
  dates: () => {
    const date = structuredClone(new Date(5));
    return [date instanceof Date, date.getTime(), Number.isNaN(structuredClone(new Date(NaN)).getTime())];
  },
  "regular expressions": () => {
    const expression = /a(b)/giu;
    expression.lastIndex = 3;
    const copy = structuredClone(expression);
    return [copy instanceof RegExp, copy.source, copy.flags, copy.lastIndex];
  },
  "maps and sets": () => {
    const copy = structuredClone(new Map([[{ a: 1 }, new Set([1, "x"])]]));
    return [copy instanceof Map, [...copy.keys()], [...[...copy.values()][0]]];
  },
  "a map that holds itself": () => {
    const map = new Map();
    map.set("self", map);
    const copy = structuredClone(map);
    return copy.get("self") === copy;
  },
  wrappers: () =>
    [new Number(1), new String("x"), new Boolean(false), Object(1n)].map((it) => [
      typeof structuredClone(it),
      String(structuredClone(it).valueOf()),
    ]),
  "buffers and views": () => {
    const { buffer } = new Uint8Array([1, 2, 3, 4]);
    const copy = structuredClone({
      buffer,
      a: new Uint8Array(buffer, 1, 2),
      b: new DataView(buffer),
      c: new Uint16Array(buffer),
    });
    return [
      [...new Uint8Array(copy.buffer)],
      [...copy.a],
      copy.a.byteOffset,
      copy.a.buffer === copy.buffer,
      copy.b.buffer === copy.buffer,
      copy.b.byteLength,
      [...copy.c],
      copy.buffer !== buffer,
    ];
  },
  "all kinds of views": () =>
    [Int8Array, Uint8ClampedArray, Int16Array, Int32Array, Uint32Array, Float32Array, Float64Array].map((Kind) => {
      const copy = structuredClone(new Kind([1, 2]));
      return [copy.constructor.name, [...copy]];
    }),
  errors: () =>
    [new Error("m"), new TypeError("m"), new RangeError("m")].map((error) => {
      const copy = structuredClone(error);
      return [copy instanceof Error, copy.name, copy.message, copy.constructor.name, Object.keys(copy)];
    }),
  "errors of other names": () => {
    class Own extends Error {
      name = "Own";
      extra = 1;
    }
    const copy = structuredClone(new Own("m"));
    return [copy.name, copy.message, copy instanceof Own, copy.extra];
  },
  "an error's cause": () => structuredClone(new Error("m", { cause: { a: 1 } })).cause,
  "instances of classes become plain": () => {
    class Own {
      a = 1;
      #b = 2;
      get c() {
        return this.#b;
      }
    }
    const copy = structuredClone(new Own());
    return [copy, copy instanceof Own, Object.getPrototypeOf(copy) === Object.prototype];
  },
  "getters are read": () =>
    structuredClone({
      get a() {
        return 1;
      },
    }),
  "a getter that throws": () =>
    structuredClone({
      get a() {
        throw new RangeError("x");
      },
    }),
  "what is not enumerable, and symbols, are left out": () => {
    const value = { [Symbol("s")]: 1, a: 1 };
    Object.defineProperty(value, "hidden", { value: 1 });
    const copy = structuredClone(value);
    return [Object.keys(copy), Object.getOwnPropertySymbols(copy).length, "hidden" in copy];
  },
  "objects without a prototype": () => {
    const copy = structuredClone(Object.assign(Object.create(null), { a: 1 }));
    return [copy, Object.getPrototypeOf(copy) === Object.prototype];
  },
  "__proto__ as a key": () => {
    const copy = structuredClone(JSON.parse('{"__proto__":{"a":1}}'));
    return [Object.keys(copy), copy.a === undefined];
  },
  "order of keys": () => Object.keys(structuredClone({ b: 1, 2: 1, a: 1, 1: 1 })),
  functions: () => failure(() => {}),
  "functions within": () => failure({ a: [() => {}] }),
  symbols: () => failure(Symbol("x")),
  promises: () => failure(Promise.resolve()),
  "weak maps": () => [failure(new WeakMap()), failure(new WeakSet()), failure(new WeakRef({}))],
  "objects of the platform": {
    expected: Array(5).fill(["DataCloneError", 25, true]),
    run: () => [
      failure(new URL("a:b")),
      failure(new Headers()),
      failure(new Response()),
      failure(new AbortController().signal),
      failure(new Event("x")),
    ],
  },
  "a blob": async () => {
    const copy = structuredClone(new Blob(["abc"], { type: "a/b" }));
    return [await copy.text(), copy.type];
  },
  "transferring a buffer": () => {
    const { buffer } = new Uint8Array([1, 2, 3]);
    const copy = structuredClone({ buffer, view: new Uint8Array(buffer, 1) }, { transfer: [buffer] });
    return [copy.buffer.byteLength, [...copy.view], buffer.byteLength, copy.view.buffer === copy.buffer];
  },
  "transferring what is not in the value": () => {
    const { buffer } = new Uint8Array([1]);
    return [structuredClone(1, { transfer: [buffer] }), buffer.byteLength];
  },
  "transferring twice": () => {
    const { buffer } = new Uint8Array([1]);
    return failure(buffer, { transfer: [buffer, buffer] });
  },
  // Node.js throws a different error.
  "transferring what cannot be": { expected: ["DataCloneError", 25, true], run: () => failure({}, { transfer: [{}] }) },
  "nothing is transferred if something cannot be cloned": () => {
    const { buffer } = new Uint8Array([1, 2]);
    const result = failure({ buffer, view: new Uint8Array(buffer), no: () => {} }, { transfer: [buffer] });
    return [result, buffer.byteLength];
  },
  "a transferred port": () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      const moved = structuredClone(port2, { transfer: [port2] });
      moved.onmessage = ({ data }) => {
        port1.close();
        resolve(data);
      };
      port1.postMessage("through");
    }),
  "no argument": () => structuredClone(),
  deep: () => {
    let value = {};
    for (let i = 0; i < 200; i += 1) value = { value };
    let [copy, depth] = [structuredClone(value), 0];
    while (copy.value !== undefined) [copy, depth] = [copy.value, depth + 1];
    return depth;
  },
  many: () => structuredClone(Array.from({ length: 5000 }, (_, i) => ({ i }))).length,
};
