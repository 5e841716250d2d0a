// Text and markup.
import slugify from "slugify";
import * as changeCase from "change-case";
import pluralize from "pluralize";
import he from "he";
import * as entities from "entities";
import { decode } from "html-entities";
import escapeStringRegexp from "escape-string-regexp";
import stripAnsi from "strip-ansi";
import { distance } from "fastest-levenshtein";
import Fuse from "fuse.js";
import MiniSearch from "minisearch";
import { diffWords } from "diff";
import MarkdownIt from "markdown-it";
import sanitizeHtml from "sanitize-html";
import { convert } from "html-to-text";
import { parseDocument } from "htmlparser2";
import { parseHTML } from "linkedom";
import { parse as parseNodes } from "node-html-parser";
import { parseFragment } from "parse5";
import emojiRegex from "emoji-regex";
import { transliterate } from "transliteration";
import Prism from "prismjs";
import hljs from "highlight.js/lib/core";
import json from "highlight.js/lib/languages/json";
import Handlebars from "handlebars";
import Mustache from "mustache";
import { Liquid } from "liquidjs";
import { Eta } from "eta/core";

const HTML = '<ul><li class="a">one <b>two</b></li><li>three &amp; four</li></ul><script>x</script>';

export default {
  slugify: () => slugify("Ünï Cödé & more", { lower: true }),
  "change-case": () => [changeCase.camelCase("some long name"), changeCase.kebabCase("SomeLongName")],
  pluralize: () => [pluralize("octopus", 2), pluralize.singular("mice")],
  he: () => he.decode("&lt;&eacute;&#x1F600;"),
  entities: () => entities.encodeHTML("é <b>"),
  "html-entities": () => decode("&copy; &hearts;"),
  "escape-string-regexp": () => escapeStringRegexp("a.b*c"),
  "strip-ansi": () => stripAnsi("\u001b[31mred\u001b[0m"),
  "fastest-levenshtein": () => distance("kitten", "sitting"),
  "fuse.js": () => new Fuse(["apple", "orange", "banana"], { includeScore: false }).search("ornge").map(({ item }) => item),
  minisearch: () => {
    const index = new MiniSearch({ fields: ["text"] });
    index.addAll([{ id: 1, text: "the quick fox" }, { id: 2, text: "a lazy dog" }]);
    return index.search("foxes lazy", { prefix: true, fuzzy: 0.3 }).map(({ id }) => id);
  },
  diff: () => diffWords("one two three", "one four three"),
  "markdown-it": () => new MarkdownIt({ linkify: true }).render("# a\n\n| b |\n|---|\n| *c* https://a.example |"),
  "sanitize-html": () => sanitizeHtml(HTML),
  "html-to-text": () => convert(HTML),
  htmlparser2: () => parseDocument(HTML).children.map(({ name }) => name),
  linkedom: () => parseHTML(HTML).document.querySelector("li.a b").textContent,
  "node-html-parser": () => parseNodes(HTML).querySelectorAll("li").map((it) => it.text),
  parse5: () => parseFragment(HTML).childNodes.map(({ nodeName }) => nodeName),
  "emoji-regex": () => "a😀b👨‍👩‍👧".match(emojiRegex()),
  transliteration: () => transliterate("Привет, 世界"),
  prismjs: () => Prism.highlight("const a = 1;", Prism.languages.javascript, "javascript"),
  "highlight.js": () => {
    hljs.registerLanguage("json", json);
    return hljs.highlight('{"a": 1}', { language: "json" }).value;
  },
  handlebars: () => Handlebars.compile("{{#each a}}{{this}},{{/each}}{{b}}")({ a: [1, 2], b: "<" }),
  mustache: () => Mustache.render("{{#a}}{{.}};{{/a}}", { a: [1, 2] }),
  liquidjs: async () => new Liquid().parseAndRender("{% for n in a %}{{ n | plus: 1 }} {% endfor %}", { a: [1, 2] }),
  "eta/core": () => new Eta().renderString("<% it.a.forEach((n) => { %><%= n %>;<% }) %>", { a: [1, 2] }),
};
