import assert from "node:assert/strict";
import { test } from "node:test";

import { z } from "zod";

import { NOT_PLAIN, plain } from "../dist/plain.js";

const count = z.int().min(0).max(10);
const PLAIN = {
  string: z.string(),
  described: z.string().describe("a text"),
  number: z.number(),
  positive: z.number().positive(),
  below: z.number().lt(5),
  count,
  boolean: z.boolean(),
  enumeration: z.enum(["a", "b"]),
  literal: z.literal(["a", "b"]),
  nullable: z.nullable(z.string()),
  list: z.array(count).min(1).max(2),
  object: z.object({ a: z.string(), b: count.optional(), c: z.object({ d: z.boolean() }).optional() }),
};

const OTHER = {
  sized: z.string().min(2).max(3),
  trimmed: z.string().trim(),
  pattern: z.string().regex(/^a/),
  email: z.email(),
  refined: z.string().refine((text) => text !== "a"),
  transformed: z.string().transform((text) => text.length),
  coerced: z.coerce.number(),
  defaulted: z.string().default("a"),
  multiple: z.number().multipleOf(2),
  int32: z.int32(),
  union: z.union([z.string(), z.number()]),
  record: z.record(z.string(), z.number()),
  strict: z.strictObject({ a: z.string() }),
  loose: z.looseObject({ a: z.string() }),
  within: z.object({ a: z.string().trim() }),
  refinedObject: z.object({ a: z.string() }).refine(({ a }) => a !== ""),
};

const VALUES = [
  undefined, null, true, 0, -0, 1, 3.5, 5, 10, 11, -1, NaN, Infinity, 2 ** 53, 1n, "", "a", "ab", "abc", "abcd", "💱",
  [], [1], [1, 2], [1, 2, 3], [1.5], ["a"], [, 1], new Array(1), {}, { a: "x" }, { a: 1 }, { a: "x", b: 1 }, { a: "x", b: undefined },
  { a: "x", b: 11 }, { a: "x", z: 1 }, { a: "x", c: { d: true, e: 1 } }, { a: "x", c: {} }, { b: 1, a: "x" },
  Object.create({ a: "x" }), Object.assign(Object.create(null), { a: "x" }), new (class { a = "x"; })(), JSON.parse('{"a":"x","__proto__":{"b":1}}'),
  new Date(0), new Map(), () => {}, Symbol("a"), new String("a"),
];

test("what goes the short way is what the schema itself returns", () => {
  let passed = 0;
  for (const [name, schema] of Object.entries({ ...PLAIN, ...OTHER })) {
    for (const value of VALUES) {
      const short = plain(schema, value);
      if (short === NOT_PLAIN) continue;
      passed += 1;
      const asked = schema.safeParse(value);
      assert.ok(asked.success, `${name} refuses what went the short way`);
      assert.deepStrictEqual(short, asked.data, name);
      if (typeof short === "object" && short !== null) assert.deepStrictEqual(Reflect.ownKeys(short), Reflect.ownKeys(asked.data), name);
    }
  }
  assert.ok(passed > 40, `${passed}`);
});

test("plain schemas go the short way, and no others", () => {
  const takes = (schema) => VALUES.some((value) => plain(schema, value) !== NOT_PLAIN);
  assert.deepEqual(Object.keys(PLAIN).filter((name) => !takes(PLAIN[name])), []);
  assert.deepEqual(Object.keys(OTHER).filter((name) => takes(OTHER[name])), []);
});
