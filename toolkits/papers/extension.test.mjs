import assert from "node:assert/strict";
import { test } from "node:test";

import { dispatch } from "kitbag/extend/toolkit";

import toolkit from "./extension.ts";
import * as arxiv from "./fixtures.mjs";

/** Calls a tool; the parameters of its requests are added to `seen`. */
function call(tool, args, answer, seen = []) {
  const fetchImpl = (url) => {
    seen.push(Object.fromEntries(new URL(url).searchParams));
    return answer instanceof Response ? answer : new Response(answer, { headers: { "content-type": "application/atom+xml; charset=UTF-8" } });
  };
  return dispatch(toolkit, { tool, arguments: args, fetchImpl });
}

async function queryFor(args) {
  const seen = [];
  await call("search_papers", args, arxiv.empty, seen);
  return seen[0]?.search_query;
}

test("a search returns papers with all that arXiv knows of them", async () => {
  const seen = [];
  const result = await call("search_papers", { query: "attention", limit: 2, sort: "submitted" }, arxiv.feed(7, arxiv.attention, arxiv.large), seen);

  assert.deepEqual(seen, [{ search_query: "all:attention", start: "0", max_results: "2", sortBy: "submittedDate", sortOrder: "descending" }]);
  const { total, papers, nextOffset } = result.structuredContent;
  assert.deepEqual([total, nextOffset], [7, 2]);
  assert.deepEqual(papers[0], {
    id: "1706.03762",
    version: 7,
    title: "Attention Is All You Need",
    authors: ["Ashish Vaswani", "Noam Shazeer"],
    abstract: "The dominant sequence transduction models are based on complex recurrent or convolutional neural networks & more.",
    categories: ["cs.CL", "cs.LG"],
    published: "2017-06-12T17:57:34Z",
    updated: "2023-08-02T00:41:18Z",
    doi: "10.1000/xyz",
    journal: "NeurIPS 30 (2017)",
    comment: "15 pages, 5 figures",
    url: "https://arxiv.org/abs/1706.03762",
    pdf: "https://arxiv.org/pdf/1706.03762v7",
  });
  assert.deepEqual([papers[1].id, papers[1].version, papers[1].pdf], ["hep-ex/0307015", undefined, "https://arxiv.org/pdf/hep-ex/0307015"]);
  assert.equal(
    result.text,
    "7 papers were found.\n1706.03762 Attention Is All You Need\n  Ashish Vaswani, Noam Shazeer, 2017-06-12, cs.CL\nhep-ex/0307015 Multi-electron production\n  Author 0 and 299 others, 2017-06-12, hep-ex\nThere are more: offset 2.",
  );
});

test("words become a query of arXiv's language, and such a query stays as it is", async () => {
  assert.equal(await queryFor({ query: 'graph "neural network"' }), 'all:graph AND all:"neural network"');
  assert.equal(await queryFor({ title: "C++ (parsing): x", author: "O'Neil" }), "ti:C++ AND ti:parsing AND ti:x AND au:O'Neil");
  assert.equal(await queryFor({ query: "abs:diffusion ANDNOT ti:survey", category: "cs.LG" }), "(abs:diffusion ANDNOT ti:survey) AND cat:cs.LG");
  assert.equal(await queryFor({ category: "hep-th", since: "2024-01-31" }), "cat:hep-th AND submittedDate:[202401310000 TO 299912312359]");
});

test("a search for nothing never reaches arXiv", async () => {
  for (const args of [{}, { query: "()" }, { category: "cs.CL OR all:x" }, { query: "x", limit: 500 }]) {
    const result = await call("search_papers", args, arxiv.empty);

    assert.equal(result.code, "INVALID_PARAMS", JSON.stringify(args));
    assert.deepEqual(result.trace.requests, []);
  }
});

test("nothing found is no error, but an empty page of results is", async () => {
  const nothing = await call("search_papers", { query: "x" }, arxiv.empty);
  const page = await call("search_papers", { query: "x" }, arxiv.feed(5));

  assert.deepEqual([nothing.text, nothing.structuredContent], ["No papers were found.", { total: 0, papers: [] }]);
  assert.deepEqual([page.ok, page.retryable], [false, true]);
});

test("a paper is read by its id or its address", async () => {
  const seen = [];
  for (const id of ["1706.03762v7", "arXiv:1706.03762", "https://arxiv.org/pdf/1706.03762.pdf", "http://www.arxiv.org/abs/hep-th/9711200"]) {
    await call("read_paper", { id }, arxiv.feed(1, arxiv.attention), seen);
  }
  const { text } = await call("read_paper", { id: "1706.03762" }, arxiv.feed(1, arxiv.attention));

  assert.deepEqual(seen.map((it) => it.id_list), ["1706.03762v7", "1706.03762", "1706.03762", "hep-th/9711200"]);
  assert.match(text, /^Attention Is All You Need\n\nAuthors: Ashish Vaswani, Noam Shazeer\nPublished: 2017-06-12, version 7 of 2023-08-02\nCategories: cs\.CL, cs\.LG\nJournal: /);
});

test("what is no id, and a paper that is not there, are said to be", async () => {
  assert.match((await call("read_paper", { id: "https://example.com/1" }, arxiv.empty)).error, /must be an id of arXiv, such as 1706\.03762/);
  assert.equal((await call("read_paper", { id: "9999.99999" }, arxiv.empty)).error, "arXiv has no paper 9999.99999. Find its id by search_papers.");
});

test("papers are ingested with their PDF, in the feed of their category", async () => {
  const result = await call("ingest_papers", { ids: ["1706.03762", "hep-ex/0307015"] }, arxiv.feed(2, arxiv.attention, arxiv.large));

  const [first, second] = result.trace.ingested;
  assert.deepEqual(first, {
    title: "Attention Is All You Need",
    text: "Authors: Ashish Vaswani, Noam Shazeer\nPublished: 2017-06-12, version 7 of 2023-08-02\nCategories: cs.CL, cs.LG\nJournal: NeurIPS 30 (2017)\nDOI: 10.1000/xyz\nComment: 15 pages, 5 figures\n\nThe dominant sequence transduction models are based on complex recurrent or convolutional neural networks & more.",
    url: "https://arxiv.org/abs/1706.03762",
    author: "Ashish Vaswani, Noam Shazeer",
    fileUrl: "https://arxiv.org/pdf/1706.03762v7",
    mimeType: "application/pdf",
    feed: { key: "cs.CL", name: "arXiv cs.CL", label: "category" },
  });
  assert.equal(second.author.length, 500);
  assert.deepEqual(result.structuredContent.ingested[1], { id: "hep-ex/0307015", title: "Multi-electron production", url: "https://arxiv.org/abs/hep-ex/0307015" });
});

test("if one paper is not there, none is ingested", async () => {
  const result = await call("ingest_papers", { ids: ["1706.03762", "9999.99999"] }, arxiv.feed(1, arxiv.attention));

  assert.match(result.error, /^arXiv has no paper 9999\.99999\./);
  assert.deepEqual(result.trace.ingested, []);
});

test("errors of the API say what helps, and whether another try does", async () => {
  const refused = async (status, body = "", headers = {}) => {
    const { error, retryable } = await call("read_paper", { id: "1706.03762" }, new Response(body, { status, headers }));
    return [error, retryable];
  };

  assert.deepEqual(await refused(400, arxiv.error), ["arXiv does not accept the request: incorrect id format for 1234.12345", false]);
  assert.deepEqual(await refused(200, arxiv.error), ["arXiv does not accept the request: incorrect id format for 1234.12345", false]);
  assert.deepEqual(await refused(429, "Rate exceeded."), ["arXiv has had too many requests. Wait a minute before the next one.", true]);
  assert.deepEqual(await refused(503, "<html>", { "retry-after": "5" }), ["arXiv has had too many requests. Wait 5 seconds before the next one.", true]);
  assert.deepEqual(await refused(403), ["export.arxiv.org answered with HTTP status 403", false]);
  assert.deepEqual(await refused(500), ["export.arxiv.org answered with HTTP status 500", true]);
});

test("an answer that is no whole list of papers is an error that may pass", async () => {
  const whole = arxiv.feed(1, arxiv.attention);
  for (const body of ["", "<html><body>Sorry</body></html>", whole.slice(0, -20), whole.replace("1</opensearch", "x</opensearch"), `${whole}${" ".repeat(5_000_000)}`, "<feed>".repeat(100_000)]) {
    const result = await call("read_paper", { id: "1706.03762" }, body);

    assert.match(result.error ?? "none", /^arXiv's answer is not the list of papers/);
    assert.equal(result.retryable, true);
  }
});

test("no entity of an answer is expanded", async () => {
  const declared = '<!DOCTYPE feed [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>';
  const answer = arxiv.feed(1, arxiv.attention.replace("Attention Is All", "&b;")).replace("<feed", `${declared}<feed`);
  const { structuredContent } = await call("read_paper", { id: "1706.03762" }, answer);

  assert.equal(structuredContent.title, "&b; You Need");
});

test("one tool changes something", () => {
  assert.deepEqual(toolkit.manifest.tools.map(({ name, annotations }) => [name, annotations.readOnlyHint]), [["search_papers", true], ["read_paper", true], ["ingest_papers", false]]);
});
