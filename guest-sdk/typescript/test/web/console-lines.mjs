// Console output that must be the same in Node.js and in the engine.
class Own {
  a = 1;
  #hidden = 2;
  get b() {
    return this.#hidden;
  }
}
class Empty {}
const circle = { name: "circle" };
circle.self = circle;
circle.list = [circle];

const VALUES = [
  1,
  -0,
  1.5,
  NaN,
  5n,
  "text",
  "",
  true,
  null,
  undefined,
  Symbol("s"),
  [],
  {},
  [1, "a", null, undefined],
  { a: 1, "b-c": "it's", 3: [true] },
  [[1, [2, [3, [4]]]]],
  { a: { b: { c: { d: 1 } } } },
  ["it's", 'say "x"', `both ' and "`, "new\nline", "tab\t\\ \x01"],
  new Own(),
  new Empty(),
  Own,
  Empty,
  class extends Own {},
  () => {},
  function named() {},
  async () => {},
  function* generate() {},
  new Map([
    ["a", 1],
    [{ k: 1 }, [2]],
  ]),
  new Set(["a", { b: 1 }]),
  new Map(),
  new Set(),
  new Date(0),
  new Date(NaN),
  /a+b/gi,
  [1, , 3],
  [, , ,],
  Object.assign([1], { own: 2 }),
  new Uint8Array([1, 2, 3]),
  new Float64Array([1.5]),
  new Uint8Array([1, 2, 3]).buffer,
  Object.create(null),
  Object.assign(Object.create(null), { a: 1 }),
  Object.create({ inherited: 1 }),
  circle,
  {
    get a() {
      return 1;
    },
    set b(value) {},
    get c() {
      return 1;
    },
    set c(value) {},
  },
  { [Symbol("key")]: 1, method() {}, arrow: () => {}, async later() {} },
  new Number(1),
  new String("x"),
  new Boolean(false),
  Object(5n),
  Object.assign(() => {}, { a: 1 }),
  { toString: () => "own text" },
  { [Symbol.toStringTag]: "Tagged", a: 1 },
  new (class Sub extends Array {})(),
  new (class SubMap extends Map {})([["a", 1]]),
  { long: "x".repeat(60), other: "y".repeat(30) },
  { a: [{ b: { c: {} } }], d: new Map([["x", { y: { z: 1 } }]]) },
  Array.from({ length: 3 }, (_, i) => ({ id: i, name: `item ${i}`, tags: ["a", "b"], nested: { deep: { deeper: {} } } })),
  { undefined: undefined, null: null, nan: NaN },
  [undefined, null],
  [[]],
  [{}],
  { a: {}, b: [] },
  { a: "x".repeat(100) },
  [1.5, -2, 3e21, 1e-7],
  new WeakMap(),
  new WeakSet(),
  JSON,
  Math.max,
  globalThis === self,
].filter((it) => it !== JSON);

for (const value of VALUES) console.log(value);
for (const value of VALUES) console.log([value]);
console.log("a", 1, { b: 2 }, ["c"]);
console.log();
console.log("%s is %d years and %i months, %f", "Ana", 42.5, 3.9, "1.25", "rest", { a: 1 });
console.log("%O %j %c%%", { a: { b: { c: {} } } }, { a: 1 }, "color: red");
console.log("%s %s %s %s", null, undefined, 5n, Symbol("x"), "%s");
console.log("%s", { a: 1, b: { c: 2 } }, "%d", "x");
console.log("100%", 5, "%d");
console.log("%d %i", "12abc", "12abc");
console.log("%x %s", 1);
console.log(5, "%s", "x");
console.group("group");
console.log("inside\nof it");
console.group();
console.log({ a: 1 });
console.groupEnd();
console.groupEnd();
console.groupEnd();
console.log("outside");
console.count();
console.count("x");
console.count("x");
console.countReset("x");
console.count("x");
console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
console.dir({ a: { b: { c: { d: 1 } } } }, { depth: null });
console.table([
  { a: 1, b: "x" },
  { a: 2, c: true },
]);
console.table([
  [1, 2],
  [3, 4],
]);
console.table(["a", "b"]);
console.table([{ a: 1, b: 2 }], ["b"]);
console.table(5);
console.info("info");
console.debug("debug");
const { log } = console;
log("without this");
console.log(new URLSearchParams("a=1&b=2"));
console.log(new Headers({ a: "b" }));
console.log(
  Array(7)
    .fill("abc")
    .map((it, at) => ({ it, at })),
);
console.log("x".repeat(200));
console.log({ text: "a\nb" });
console.log(new URL("https://u@a.example:1/b?c#d"));
console.log(new Blob(["x"]));
console.log({ headers: new Headers({ a: "b" }), blob: new Blob([]), params: new URLSearchParams() });
export default null;
