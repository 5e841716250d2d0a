// zod schemas and their JSON Schemas: the JSON Schema must accept every value that zod accepts.
import assert from "node:assert/strict";
import { test } from "node:test";

import { defineToolkit, dispatch, tool, z } from "kitbag/extend/toolkit";

import { inputSchema, outputSchema } from "../dist/json-schema.js";
import { host } from "../dist/local/host.js";
import { argumentsFailure } from "../dist/rules.js";

const Tree = z.object({ name: z.string(), get children() { return z.array(Tree).optional(); } });
const circle = z.object({ kind: z.literal("circle"), radius: z.number() });
const square = z.object({ kind: z.literal("square"), side: z.coerce.number() });

const TOOLKIT = { id: "one", name: "One", description: "One tool.", icon: "1", version: "1.0.0", tools: [] };
const SCHEMAS = {
  string: z.string(),
  lengths: z.string().min(2).max(3),
  exactLength: z.string().length(2),
  trimmed: z.string().trim().max(2),
  trimmedAfter: z.string().max(4).trim().min(1),
  upper: z.string().max(2).toUpperCase(),
  pattern: z.string().regex(/^a/i),
  date: z.iso.date(),
  datetime: z.iso.datetime({ local: true }),
  time: z.iso.time(),
  email: z.email(),
  url: z.url(),
  number: z.number().min(1).max(5),
  tenths: z.number().multipleOf(0.1),
  even: z.number().multipleOf(2).multipleOf(3),
  rounded: z.number().overwrite(Math.round).int().max(5),
  int32: z.int32(),
  coercedNumber: z.coerce.number().min(2),
  coercedInt: z.coerce.number().int(),
  coercedString: z.coerce.string().min(3),
  coercedBoolean: z.coerce.boolean(),
  coercedDate: z.coerce.date().transform((date) => date.toISOString()),
  preprocessed: z.preprocess(Number, z.number().min(2)),
  preprocessedObject: z.preprocess((value) => value ?? {}, z.object({ a: z.number().optional() })),
  caught: z.number().catch(3),
  caughtOutside: z.string().min(2).catch(""),
  defaulted: z.string().min(2).default(""),
  prefaulted: z.string().prefault("ab"),
  any: z.any(),
  unknown: z.unknown(),
  custom: z.custom(() => true),
  optional: z.string().optional(),
  nullish: z.string().nullish(),
  orUndefined: z.union([z.string(), z.undefined()]),
  nullable: z.number().nullable(),
  transformed: z.string().transform((text) => text.length),
  codec: z.codec(z.string(), z.number(), { decode: Number, encode: String }),
  stringbool: z.stringbool(),
  enumeration: z.enum(["a", "b"]),
  literal: z.literal(["a", 1]),
  list: z.array(z.string().trim().max(1)).max(2),
  tuple: z.tuple([z.string(), z.coerce.number().optional()]),
  object: z.object({ a: z.string().catch("x"), b: z.any(), c: z.string().optional() }),
  strict: z.strictObject({ a: z.string().default("x") }),
  loose: z.looseObject({ a: z.string() }),
  union: z.union([z.object({ a: z.string().trim().max(1) }), z.object({ b: z.number() })]),
  shapes: z.discriminatedUnion("kind", [circle, square]),
  overlapping: z.discriminatedUnion("kind", [circle, circle.extend({ kind: z.literal("disc"), radius: z.any() })]),
  both: z.object({ a: z.string() }).and(z.object({ b: z.number() }).describe("the other")),
  record: z.record(z.string().regex(/^[ab]$/), z.number()),
  enumRecord: z.record(z.enum(["a", "b"]), z.any()),
  numberRecord: z.record(z.number(), z.string()),
  looseRecord: z.looseRecord(z.string().regex(/^a/), z.number()),
  lazy: z.lazy(() => z.string().optional()),
  readonly: z.object({ a: z.string() }).readonly(),
  named: z.object({ a: z.string() }).meta({ id: "Named" }),
  tree: Tree,
  template: z.templateLiteral(["a", z.number()]),
};

const VALUES = [
  undefined, null, true, false, 0, 1, 2, 0.3, 2.4, 4.6, 6, 1e20, -1, "", "a", "ab", "abc", "abcd", " a ", "  ab  ", "ß", "💱", "💱💱", "5", "a1", "true",
  "2026-01-01", "2026-01-01T10:00", "2026-01-01T10:00:00Z", "10:00", "a@b.example", "https://bücher.example/ü", "circle",
  [], ["a"], [" a "], ["a", "2"], [5], {}, { a: "x" }, { a: " x " }, { a: 1 }, { b: 1 }, { a: "x", b: 1 }, { a: 1, b: 2 }, { 1: "x" }, { a: "x", z: 1 },
  { kind: "circle", radius: 1 }, { kind: "square", side: "2" }, { kind: "disc", radius: 1 }, { kind: "disc" }, { name: "a", children: [{ name: "b" }] },
];

/** Returns `{ value }` as it is after conversion to JSON. */
const throughJson = (value) => JSON.parse(JSON.stringify({ value }));

test("what a schema accepts its JSON Schema lets through, and what it returns as well", () => {
  let accepted = 0;
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    for (const root of [z.object({ value: schema }), z.object({ value: schema }).meta({ id: "Root" })]) {
      const [input, output] = [inputSchema(root), outputSchema(root)];
      for (const value of VALUES) {
        const args = throughJson(value);
        const checked = root.safeParse(args);
        if (!checked.success) continue;
        accepted += 1;
        const what = `${name} ${JSON.stringify(args)} ${JSON.stringify(input)} ${JSON.stringify(output)}`;
        assert.equal(argumentsFailure(input, args), undefined, what);
        const structured = JSON.stringify(checked.data);
        assert.equal(host("result", { toolkit: TOOLKIT, tool: "t", text: 0, uncounted: 0, structured, output, content: [] }).failure, undefined, what);
      }
    }
  }
  assert.ok(accepted > 500, `${accepted}`);
});

test("as much as it can say a JSON Schema still says", () => {
  const properties = (shape) => inputSchema(z.object(shape)).properties;
  assert.deepEqual(
    properties({
      text: z.string().min(1).max(5).describe("A text"),
      trimmed: z.string().trim().max(5).describe("A word"),
      count: z.int().min(1).max(9),
      day: z.iso.date(),
      repository: z.string().regex(/^[\w-.]+\/[\w-.]+$/, "must be owner/name").optional().describe("Which"),
      percent: z.number().min(0, "must not be negative"),
      level: z.preprocess(Number, z.enum(["1", "2"])).describe("How high"),
      colour: z.enum(["red", "green"]).meta({ examples: ["red"] }).catch("red"),
      tags: z.array(z.string()).min(1).max(3),
    }),
    {
      text: { type: "string", minLength: 1, maxLength: 5, description: "A text" },
      trimmed: { type: "string", description: "A word (at most 5 characters)" },
      count: { type: "integer", minimum: 1, maximum: 9 },
      day: { type: "string", format: "date" },
      repository: { type: "string", description: "Which (matches /^[\\w-.]+\\/[\\w-.]+$/)" },
      percent: { type: "number", description: "At least 0" },
      level: { anyOf: [{ type: "string", enum: ["1", "2"] }, {}], description: "How high" },
      colour: { anyOf: [{ type: "string", enum: ["red", "green"] }, {}], default: "red", examples: ["red"] },
      tags: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 },
    },
  );
});

test("a member that must be there is asked for, and one that may be absent is not", () => {
  const shape = { a: z.string(), b: z.coerce.number(), c: z.string().catch(""), d: z.preprocess(String, z.string()), e: z.string().default(""), f: z.string().optional() };
  assert.deepEqual(inputSchema(z.object(shape)).required, ["a", "b"]);
});

test("the root of every schema of an object is an object", () => {
  const Node = z.object({ value: z.string(), get next() { return Node.optional(); } }).meta({ id: "Node" });
  const roots = {
    named: z.object({ a: z.string() }).meta({ id: "A", description: "d" }),
    namedAndRecursive: Node,
    namedWithin: z.discriminatedUnion("kind", [circle.meta({ id: "Circle" }), square.meta({ id: "Square/1" })]),
    both: z.object({ a: z.string() }).and(z.object({ b: z.string() }).describe("other")),
    nullable: z.object({ a: z.string() }).nullable(),
    preprocessed: z.preprocess((value) => value, z.object({ a: z.string().describe("d") })),
    caught: z.object({ a: z.string() }).catch({ a: "" }),
    any: z.any(),
  };
  for (const [name, schema] of Object.entries(roots)) {
    const tools = [tool({ name: "go", description: "Goes.", input: schema, handler: async () => "" })];
    const { manifest } = defineToolkit({ id: "a", name: "A", description: "d", icon: "1️⃣", version: "1.0.0", tools });
    assert.equal(manifest.tools[0].inputSchema.type, "object", name);
  }
  assert.deepEqual(inputSchema(roots.named), { type: "object", properties: { a: { type: "string" } }, required: ["a"], description: "d" });
  assert.deepEqual(inputSchema(roots.preprocessed).properties, { a: { anyOf: [{ type: "string", description: "d" }, {}] } });
  assert.deepEqual(argumentsFailure(inputSchema(Node), { value: "a", next: { value: "b", next: { value: 1 } } })?.error, 'Invalid arguments: /next/next/value: value is not of type "string"');
  assert.equal(outputSchema(roots.namedWithin).type, "object");
});

test("patterns that only ECMAScript knows are for the schema alone", async () => {
  const PATTERNS = [[/^[\w-.]+$/, "a-b"], [/^{a}$/, "{a}"], [/^[^]$/, "x"], [/^(?<q>['"]).*\k<q>$/, "'a'"], [/^[\p{L}--[a-z]]$/v, "A"], [/^\p{Lu}$/u, "Ä"]];
  for (const [pattern, fits] of PATTERNS) {
    const input = z.object({ text: z.string().regex(pattern, "must be so") });
    const toolkit = one(input, ({ text }) => text);
    assert.equal((await dispatch(toolkit, { tool: "go", args: { text: fits } })).text, fits);
    assert.equal((await dispatch(toolkit, { tool: "go", args: { text: "" } })).error, "Invalid arguments: /text: must be so", String(pattern));
  }
});

test("an author's own messages reach the model, with their path", async () => {
  const shape = z.object({
    repository: z.string().regex(/^[^/]+\/[^/]+$/, "must be owner/name").optional(),
    day: z.iso.date().optional(),
    count: z.number().min(1, "ask for one at least").optional(),
    shape: z.discriminatedUnion("kind", [circle, square]).optional(),
    either: z.union([z.object({ id: z.string().startsWith("id-", "must begin with id-") }), z.object({ name: z.string() })]).optional(),
    kind: z.union([z.string(), z.number()]).optional(),
    size: z.union([z.number().min(1), z.enum(["small", "large"])]).optional(),
    by: z.record(z.string().regex(/^[a-z]+$/, "must be a word"), z.number()).optional(),
  });
  const toolkit = one(shape, () => "fits");
  const said = async (args) => (await dispatch(toolkit, { tool: "go", args })).error.replace("Invalid arguments: ", "");
  assert.equal(await said({ repository: "x" }), "/repository: must be owner/name");
  assert.equal(await said({ day: "tomorrow" }), "/day: Invalid ISO date");
  assert.equal(await said({ count: 0 }), "/count: ask for one at least");
  assert.equal(await said({ shape: { kind: "circle", radius: "x" } }), '/shape/radius: value is not of type "number"');
  assert.equal(await said({ shape: { kind: "square", side: "x" } }), "/shape/side: Invalid input: expected number, received NaN");
  assert.equal(await said({ shape: { kind: "disc" } }), '/shape/kind: value is not one of "circle" or "square"');
  assert.equal(await said({ either: { id: "7" } }), "/either/id: must begin with id-");
  assert.equal(await said({ kind: true }), '/kind: value is not of types "number", "string"');
  assert.equal(await said({ size: "huge" }), '/size: value is not of type "number", or value is not one of "small" or "large"');
  assert.equal(await said({ by: { "1": 1 } }), "/by/1: must be a word");
});

test("every value of a discriminator is named for what a handler parses as well", async () => {
  const plain = z.union([circle, square, z.null()]);
  const cases = [[plain, /\/kind: value is not one of "circle" or "square"/], [z.discriminatedUnion("kind", [circle, square]), /\/kind: [^]*'circle' \| 'square'/]];
  for (const [schema, message] of cases) {
    const toolkit = defineToolkit({
      id: "a", name: "A", description: "d", icon: "1️⃣", version: "1.0.0", egress: ["api.example"],
      tools: [tool({ name: "go", description: "Goes.", input: z.object({}), handler: async (_, ctx) => String(await ctx.fetchJson("https://api.example/", { schema })) })],
    });
    const { error } = await dispatch(toolkit, { tool: "go", fetchImpl: async () => Response.json({ kind: "disc" }) });
    assert.match(error, message);
  }
});

function one(input, answer) {
  const tools = [tool({ name: "go", description: "Goes.", input, handler: async (args) => answer(args) })];
  return defineToolkit({ id: "a", name: "A", description: "d", icon: "1️⃣", version: "1.0.0", tools });
}
