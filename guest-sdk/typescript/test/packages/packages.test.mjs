// Packages of npm that toolkits use: each is bundled for the sandbox, and its handler runs.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { bundle } from "../../dist/build/bundle.js";
import { forPeople } from "../../dist/build/reporter.js";
import { readDeclaration } from "../../dist/build/read.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const RSS = '<rss version="2.0"><channel><title>news</title></channel></rss>';

/** What is imported, what is done with it, and what comes out. */
const PACKAGES = {
  qs: ['import qs from "qs";', 'qs.stringify({ a: [1, 2] }, { encode: false })', "a[0]=1&a[1]=2"],
  valibot: ['import * as v from "valibot";', 'v.parse(v.pipe(v.string(), v.email()), "a@b.example")', "a@b.example"],
  mathjs: ['import { evaluate } from "mathjs";', 'String(evaluate("2 * (3 + 4)"))', "14"],
  "@noble/curves": ['import { ed25519 } from "@noble/curves/ed25519.js";', 'String(ed25519.getPublicKey(new Uint8Array(32)).length)', "32"],
  "csv-parse": ['import { parse } from "csv-parse/sync";', 'JSON.stringify(parse("a,b\\n1,2", { columns: true }))', '[{"a":"1","b":"2"}]'],
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
  jose: ['import { UnsecuredJWT } from "jose";', 'UnsecuredJWT.decode(new UnsecuredJWT({ a: 1 }).encode()).payload.a as string + ""', "1"],
  cheerio: ['import * as cheerio from "cheerio";', 'cheerio.load("<p>x</p>")("p").text()', "x"],
  "@octokit/request": ['import { request } from "@octokit/request";', 'request.endpoint("GET /repos/{owner}", { owner: "o" }).url', "https://api.github.com/repos/o"],
};

for (const [name, [imported, expression, expected]] of Object.entries(PACKAGES)) {
  test(name, async () => {
    const stem = join(HERE, `extension-${name.replaceAll(/\W/g, "-")}`);
    const [entry, file] = [`${stem}.ts`, `${stem}.mjs`];
    after(() => Promise.all([entry, file].map((path) => rm(path, { force: true }))));
    await writeFile(entry, `import { defineToolkit, z } from "kitbag/extend/toolkit";
${imported}
const tools = [{ name: "go", description: "Goes.", input: z.object({}), handler: async () => ${expression} }];
export default defineToolkit({ id: "a", name: "A", description: "d", icon: "📦", version: "1.0.0", tools });
`);
    const { manifest } = await readDeclaration(entry, forPeople);
    const { code } = await bundle(entry, `export { default } from ${JSON.stringify(entry)};`, "sandbox");
    await writeFile(file, code);
    const { default: toolkit } = await import(pathToFileURL(file));

    assert.equal(manifest.tools.length, 1);
    assert.equal(await toolkit.config.tools[0].handler({}, {}), expected);
  });
}
