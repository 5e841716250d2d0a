// npm packages that toolkits use: each is built into a toolkit, deployed, and called.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { program, startServer } from "../parity/server.mjs";
import { kitbagBuild, temporary } from "../support.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const RSS = '<rss version="2.0"><channel><title>news</title></channel></rss>';

/** For each package: the import, an expression that uses it, and the expected value. */
const PACKAGES = {
  qs: ['import qs from "qs";', 'qs.stringify({ a: [1, 2] }, { encode: false })', "a[0]=1&a[1]=2"],
  valibot: ['import * as v from "valibot";', 'v.parse(v.pipe(v.string(), v.email()), "a@b.example")', "a@b.example"],
  "temporal-polyfill": ['import { Temporal } from "temporal-polyfill";', 'Temporal.PlainDate.from("2026-01-31").add({ months: 1 }).toString()', "2026-02-28"],
  xml2js: ['import { parseStringPromise } from "xml2js";', 'JSON.stringify(await parseStringPromise("<a><b>1</b></a>"))', '{"a":{"b":["1"]}}'],
  "rss-parser": ['import Parser from "rss-parser";', `String((await new Parser().parseString(${JSON.stringify(RSS)})).title)`, "news"],
  "@notionhq/client": ['import { Client } from "@notionhq/client";', 'typeof new Client({ auth: "x" }).pages.retrieve', "function"],
  zod: ['import * as zod from "zod";', 'zod.string().parse("a")', "a"],
  "zod/mini": ['import * as mini from "zod/mini";', 'mini.parse(mini.string(), "a")', "a"],
  "zod/v4": ['import * as four from "zod/v4";', 'four.string().parse("a")', "a"],
  "date-fns": ['import { addDays, formatISO } from "date-fns";', 'formatISO(addDays(new Date(2026, 0, 31), 1), { representation: "date" })', "2026-02-01"],
  "lodash-es": ['import { chunk } from "lodash-es";', "JSON.stringify(chunk([1, 2, 3], 2))", "[[1,2],[3]]"],
  papaparse: ['import Papa from "papaparse";', 'JSON.stringify(Papa.parse("a,b\\n1,2").data)', '[["a","b"],["1","2"]]'],
  "fast-xml-parser": ['import { XMLParser } from "fast-xml-parser";', 'JSON.stringify(new XMLParser().parse("<a><b>1</b></a>"))', '{"a":{"b":1}}'],
  marked: ['import { marked } from "marked";', 'String(marked.parse("# a")).trim()', "<h1>a</h1>"],
  nanoid: ['import { nanoid } from "nanoid";', "String(nanoid().length)", "21"],
  jose: ['import { UnsecuredJWT } from "jose";', 'UnsecuredJWT.decode(new UnsecuredJWT({ a: 1 }).encode()).payload.a', "1"],
  cheerio: ['import * as cheerio from "cheerio";', 'cheerio.load("<p>x</p>")("p").text()', "x"],
  "@octokit/request": ['import { request } from "@octokit/request";', 'request.endpoint("GET /repos/{owner}", { owner: "o" }).url', "https://api.github.com/repos/o"],
  // These read the clock or random numbers as soon as they are imported.
  "@faker-js/faker": ['import { Faker, en } from "@faker-js/faker";', "typeof new Faker({ locale: [en] }).person.fullName()", "string"],
  "@noble/curves": ['import { ed25519 } from "@noble/curves/ed25519.js";', "ed25519.keygen().publicKey.length", "32"],
  "bignumber.js": ['import BigNumber from "bignumber.js";', 'BigNumber("0.1").plus("0.2").toString()', "0.3"],
  bson: ['import { ObjectId } from "bson";', "new ObjectId().toHexString().length", "24"],
  "core-js": ['import "core-js/actual/array/group-by.js";', "JSON.stringify([1, 2, 3].groupBy((n) => n % 2))", '{"0":[2],"1":[1,3]}'],
  "d3-time": ['import { timeMonth } from "d3-time";', "timeMonth.ceil(new Date(2026, 0, 31)).getMonth()", "1"],
  json5: ['import JSON5 from "json5";', `JSON.stringify(JSON5.parse("{a: 1,}"))`, '{"a":1}'],
  lodash: ['import _ from "lodash";', "JSON.stringify(_.chunk([1, 2, 3], 2))", "[[1,2],[3]]"],
  mathjs: ['import { evaluate } from "mathjs";', 'evaluate("2 * (3 + 4)")', "14"],
};

/** Packages that cannot be in a toolkit: the import, and the expected error. */
const REFUSED = {
  "csv-parse/sync": ['import { parse } from "csv-parse/sync";', /Buffer is not defined\n[^]*imports "csv-parse"/],
};

const skip = program === undefined && "no kitbag program: set TEST_KITBAG, or build it with cargo";
let server, directory;

before(async () => {
  if (skip) return;
  directory = await temporary();
  server = await startServer();
});

after(() => server?.stop());

/** Builds a toolkit in a file in this folder, so that it finds the packages that are installed here. */
async function built(name, imported, expression) {
  const id = name.replaceAll(/\W/g, "-").replace(/^-/, "");
  const entry = join(HERE, `extension-${id}.mjs`);
  after(() => rm(entry, { force: true }));
  await writeFile(entry, `import { defineToolkit, z } from "kitbag/extend/toolkit";
${imported}
const tools = [{ name: "go", description: "Goes.", input: z.object({}), handler: async () => String(${expression}) }];
export default defineToolkit({ id: "${id}", name: "A", description: "d", icon: "📦", version: "1.0.0", tools });
`);
  return { id, ...(await kitbagBuild(entry, join(directory, id))) };
}

for (const [name, [imported, message]] of Object.entries(REFUSED)) {
  test(`${name} is refused`, { skip }, async () => {
    const { status, stderr } = await built(name, imported, /{ (\w+) }/.exec(imported)[1]);
    assert.equal(status, 1);
    assert.match(stderr, message);
  });
}

for (const [name, [imported, expression, expected]] of Object.entries(PACKAGES)) {
  test(name, { skip }, async () => {
    const { id, status, stderr } = await built(name, imported, expression);
    assert.equal(status, 0, stderr);
    await server.cli(["toolkit", "deploy", join(directory, id, `${id}.wasm`)]);

    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: `${id}__go`, arguments: {} } };
    const answer = await server.fetch(JSON.stringify(body), { "content-type": "application/json", accept: "application/json" });
    const { result } = await answer.json();
    assert.equal(result.content[0].text, expected);
  });
}
