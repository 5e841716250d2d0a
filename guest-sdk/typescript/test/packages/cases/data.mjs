// Formats, schemas and collections.
import * as yaml from "yaml";
import * as jsYaml from "js-yaml";
import * as toml from "smol-toml";
import * as ini from "ini";
import { csvFormat, csvParse } from "d3-dsv";
import { JSONPath } from "jsonpath-plus";
import jmespath from "jmespath";
import jsonPatch from "fast-json-patch";
import Ajv from "ajv";
import * as superstruct from "superstruct";
import * as yup from "yup";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { produce } from "immer";
import * as R from "ramda";
import * as remeda from "remeda";
import _ from "underscore";
import deepmerge from "deepmerge";
import deepEqual from "fast-deep-equal";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import PQueue from "p-queue";
import { EventEmitter } from "eventemitter3";
import { from, lastValueFrom, map, toArray } from "rxjs";
import * as msgpack from "@msgpack/msgpack";
import superjson from "superjson";
import stringify from "json-stable-stringify";
import { buildSchema, graphql, parse, print } from "graphql";
import * as XLSX from "xlsx";
import { format } from "sql-formatter";
import * as acorn from "acorn";
import jsep from "jsep";
import semver from "semver";
import ICAL from "ical.js";

const DATA = { a: [{ b: 1 }, { b: 2 }], c: "d" };

export default {
  yaml: () => [yaml.parse("a: [1, 2]\nb: |\n  text"), yaml.stringify(DATA)],
  "js-yaml": () => [jsYaml.load("a: &x {b: 1}\nc: *x"), jsYaml.dump(DATA)],
  "smol-toml": () => [toml.parse('[a]\nb = 1\nc = ["d"]'), toml.stringify({ a: { b: 1.5 } })],
  ini: () => ini.parse("[a]\nb=c\n"),
  "d3-dsv": () => [csvParse('a,b\n1,"2,3"'), csvFormat([{ a: 1, b: "x,y" }])],
  "jsonpath-plus": () => JSONPath({ path: "$.a[*].b", json: DATA }),
  jmespath: () => jmespath.search(DATA, "a[?b > `1`].b"),
  "fast-json-patch": () => jsonPatch.compare(DATA, { ...DATA, c: "e" }),
  ajv: () => {
    const validate = new Ajv().compile({ type: "object", properties: { c: { type: "number" } } });
    return [validate(DATA), validate.errors];
  },
  superstruct: () => superstruct.validate({ a: 1 }, superstruct.object({ a: superstruct.string() }))[0].message,
  yup: () => yup.object({ a: yup.number().min(3).required() }).validate({ a: "1" }).catch(({ message }) => message),
  "@sinclair/typebox": () => [...Value.Errors(Type.Object({ c: Type.Number() }), DATA)].map(({ message }) => message),
  immer: () => produce(DATA, (draft) => void draft.a.push({ b: 3 })),
  // It asks for randomness as soon as it is imported: imported here, it does so in the call.
  immutable: async () => (await import("immutable")).Map({ a: 1 }).set("b", 2).toJS(),
  ramda: () => R.groupBy(({ b }) => (b > 1 ? "more" : "less"), DATA.a),
  remeda: () => remeda.pipe(DATA.a, remeda.map(({ b }) => b), remeda.sumBy((n) => n)),
  underscore: () => _.chain(DATA.a).pluck("b").shuffle().max().value(),
  deepmerge: () => deepmerge(DATA, { a: [{ e: 1 }] }),
  "fast-deep-equal": () => [deepEqual(DATA, structuredClone(DATA)), deepEqual([1], [2])],
  "lru-cache": () => {
    const cache = new LRUCache({ max: 2 });
    for (const key of ["a", "b", "c"]) cache.set(key, 1);
    return [...cache.keys()];
  },
  "p-limit": async () => Promise.all([1, 2, 3].map((n) => (pLimit(1))(() => n * 2))),
  "p-queue": async () => new PQueue({ concurrency: 2 }).addAll([1, 2, 3].map((n) => async () => n * 2)),
  eventemitter3: () => new Promise((resolve) => new EventEmitter().on("a", resolve).emit("a", 1)),
  rxjs: () => lastValueFrom(from([1, 2]).pipe(map((n) => n * 2), toArray())),
  "@msgpack/msgpack": () => [[...msgpack.encode(DATA)], msgpack.decode(msgpack.encode(DATA))],
  superjson: () => superjson.stringify({ at: new Date(0), set: new Set([1]) }),
  "json-stable-stringify": () => stringify({ b: 1, a: [2] }),
  graphql: async () => [print(parse("{a{b}}")), await graphql({ schema: buildSchema("type Query { a: Int }"), source: "{ a }", rootValue: { a: 1 } })],
  xlsx: () => {
    const book = XLSX.utils.book_new();
    XLSX.utils.book_append_sheet(book, XLSX.utils.json_to_sheet([{ a: 1, b: "x" }]), "one");
    return XLSX.utils.sheet_to_json(XLSX.read(XLSX.write(book, { type: "array" })).Sheets.one);
  },
  "sql-formatter": () => format("select a,b from c where d=1", { language: "postgresql" }),
  acorn: () => acorn.parse("a + 1", { ecmaVersion: 2024 }).body[0].expression.operator,
  jsep: () => jsep("a + b * 2"),
  semver: () => [semver.satisfies("1.2.3", "^1.0.0"), semver.inc("1.2.3", "minor")],
  "ical.js": () => new ICAL.Component(ICAL.parse("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:x\r\nEND:VEVENT\r\nEND:VCALENDAR")).getFirstSubcomponent("vevent").getFirstPropertyValue("summary"),
};
