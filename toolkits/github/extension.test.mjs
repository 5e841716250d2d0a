import assert from "node:assert/strict";
import { test } from "node:test";

import { complete, dispatch, getPrompt, readResource } from "kitbag/extend/toolkit";

import toolkit from "./extension.ts";
import * as github from "./fixtures.mjs";

/** Calls a tool; `answers` are the bodies by path, and a function as one sees the request. */
async function call(tool, args, answers = {}, options = {}) {
  const fetchImpl = (url, init) => {
    const { pathname } = new URL(url);
    const answer = answers[decodeURIComponent(pathname)];
    if (answer === undefined) return assert.fail(`${pathname} is requested`);
    return Response.json(typeof answer === "function" ? answer(new URL(url).searchParams, init) : answer);
  };
  return dispatch(toolkit, { tool, arguments: args, fetchImpl, account: "gho_of-the-tests", ...options });
}

/** Calls a tool of an API that answers with an error. */
function refused(
  [status, body, headers = {}],
  tool = "read_issue",
  args = { repository: "octocat/Hello-World", number: 1347 },
  signIn = { secrets: { GITHUB_TOKEN: "token-of-a-test" } },
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return dispatch(toolkit, { tool, arguments: args, fetchImpl: () => new Response(text, { status, headers }), ...signIn });
}

const ISSUE = "/repos/octocat/Hello-World/issues/1347";
const PULL = "/repos/octocat/Hello-World/pulls/1347";

test("a search gets its qualifiers, and says what there is beyond the page", async () => {
  const seen = [];
  const result = await call("search_issues", { query: "crash label:bug", repository: "octocat/Hello-World", limit: 1 }, {
    "/search/issues": (parameters) => (seen.push(Object.fromEntries(parameters)), { ...github.search(github.issue), total_count: 5 }),
  });

  assert.deepEqual(seen, [{ q: "crash label:bug is:issue repo:octocat/Hello-World state:open", per_page: "1", page: "1" }]);
  assert.equal(result.text, "5 found:\noctocat/Hello-World#1347 Found a bug (open, 31 comments, updated 2011-04-23)\n\nThere are more: page 2.");
  const { issues, nextPage } = result.structuredContent;
  assert.equal(nextPage, 2);
  assert.deepEqual(issues, [
    {
      repository: "octocat/Hello-World",
      number: 1347,
      title: "Found a bug",
      kind: "issue",
      state: "open",
      author: "octocat",
      labels: ["bug"],
      assignees: ["hubot"],
      comments: 31,
      createdAt: "2011-04-22T13:33:48Z",
      updatedAt: "2011-04-23T13:33:48Z",
      url: "https://github.com/octocat/Hello-World/issues/1347",
    },
  ]);
});

test("a merged pull request of a deleted account is one", async () => {
  const result = await call("search_issues", { query: "feature", kind: "pull_request", state: "any" }, {
    "/search/issues": (parameters) => (assert.equal(parameters.get("q"), "feature is:pull-request"), github.search(github.pullAsIssue)),
  });

  const [found] = result.structuredContent.issues;
  assert.deepEqual([found.kind, found.state, found.author], ["pull_request", "merged", "ghost"]);
});

test("a search that finds nothing, or not all, says so", async () => {
  const nothing = await call("search_issues", { query: "x" }, { "/search/issues": github.search() });
  const partly = await call("search_issues", { query: "x" }, { "/search/issues": { ...github.search(), incomplete_results: true } });

  assert.equal(nothing.text, "Nothing was found.");
  assert.deepEqual(nothing.structuredContent, { total: 0, incomplete: false, issues: [] });
  assert.match(partly.text, /there may be more/);
});

test("no search goes beyond the thousand results that GitHub gives", async () => {
  const result = await call("search_repositories", { query: "tetris", limit: 50, page: 20 }, { "/search/repositories": github.repositories });

  assert.equal(result.structuredContent.nextPage, undefined);
  assert.equal(result.text, "1200 found:\ndtrupenn/Tetris (1 stars, Assembly, archived) A C implementation of Tetris using Pennsim through LC4");
});

test("an issue comes with its comments, page by page", async () => {
  const comments = (parameters) => [{ ...github.comment, body: `page ${parameters.get("page")}` }];
  const answers = { [ISSUE]: github.issue, [`${ISSUE}/comments`]: comments };
  const [first, second] = await Promise.all([1, 2].map((page) => call("read_issue", { repository: "octocat/Hello-World", number: 1347, page }, answers)));

  assert.match(first.text, /^octocat\/Hello-World#1347 Found a bug\nopen, by octocat, 2011-04-22, labels: bug\n/);
  assert.match(first.text, /I'm having a problem[^]*--- hubot, 2011-04-14T16:00:49Z\npage 1\n\nThere are more: page 2\.$/);
  assert.deepEqual([first.structuredContent.nextPage, second.structuredContent.nextPage], [2, undefined]);
  assert.match(second.text, /page 2$/);
  assert.doesNotMatch(second.text, /I'm having a problem/);
});

test("long texts of others are cut, and say so", async () => {
  const answers = { [ISSUE]: { ...github.issue, body: "x".repeat(30_000) }, [`${ISSUE}/comments`]: [{ ...github.comment, body: null }] };
  const { structuredContent } = await call("read_issue", { repository: "octocat/Hello-World", number: 1347 }, answers);

  assert.match(structuredContent.body, /x\n\[cut: 10000 more characters\]$/);
  assert.equal(structuredContent.comments[0].body, "");
});

test("a pull request comes with its files and their diff", async () => {
  const answers = { [PULL]: github.pull, [`${PULL}/files`]: [github.file, github.renamed] };
  const result = await call("read_pull_request", { repository: "octocat/Hello-World", number: 1347 }, answers);

  assert.match(result.text, /open, by octocat, octocat:new-topic into master\n3 commits, 2 files, \+100 −3/);
  assert.match(result.text, /added file1\.txt, \+103 −21\n@@ -132,7/);
  assert.match(result.text, /renamed logo\.png \(from icon\.png\), \+0 −0\n\[diff not shown\]$/);
  assert.equal(result.structuredContent.headCommit, github.pull.head.sha);
  assert.equal("mergeable" in result.structuredContent, false);
});

test("a huge pull request gives a bounded result", async () => {
  const files = Array.from({ length: 50 }, (_, index) => ({ ...github.file, filename: `${index}.txt`, patch: "+".repeat(100_000) }));
  const answers = { [PULL]: { ...github.pull, changed_files: 400 }, [`${PULL}/files`]: files };
  const result = await call("read_pull_request", { repository: "octocat/Hello-World", number: 1347 }, answers);

  assert.equal(result.structuredContent.files.length, 50);
  assert.ok(result.text.length < 70_000);
  assert.match(result.text, /\[cut: 92000 more characters\]/);
  assert.match(result.text, /49\.txt, \+103 −21\n\[diff not shown\]\n\nThere are more: page 2\.$/);
});

test("a file is read line by line, of any branch", async () => {
  const answers = { "/repos/octokit/octokit.rb/contents/docs/Ä b?c#d%.md": (parameters) => (assert.equal(parameters.get("ref"), "v1"), github.content("one\ntwö\nthree\nfour")) };
  const result = await call("read_file", { repository: "octokit/octokit.rb", path: "/docs/Ä b?c#d%.md", ref: "v1", firstLine: 2, lines: 2 }, answers);

  assert.equal(result.text, "twö\nthree\n\n[The file has 4 lines; continue with firstLine 4.]");
  const { text, totalLines, nextLine } = result.structuredContent;
  assert.deepEqual([text, totalLines, nextLine], ["twö\nthree", 4, 4]);
});

test("a folder is listed", async () => {
  const result = await call("read_file", { repository: "octokit/octokit.rb", path: "lib" }, { "/repos/octokit/octokit.rb/contents/lib": github.folder });

  assert.equal(result.text, "octokit.rb (625 bytes)\noctokit/");
  assert.deepEqual(result.structuredContent.entries[1], { name: "octokit", path: "lib/octokit", type: "dir", size: 0 });
});

test("what is no text, or too large, or elsewhere, says where it is", async () => {
  const read = async (answer, args) => (await call("read_file", { repository: "a/b", ...args }, { "/repos/a/b/contents": answer })).error;
  const picture = { ...github.content(""), path: "logo.png", size: 4, content: Buffer.from([0x89, 0x50, 0xff, 0xfe]).toString("base64") };

  assert.match(await read(picture), /^logo\.png is not a text file \(4 bytes\)\. It is at https:/);
  assert.match(await read(github.largeContent), /^data\.csv has 2000000 bytes, which is too large/);
  assert.match(await read(github.submodule), /jquery is a submodule; its files are in https:\/\/github\.com\/jquery\/jquery\.git/);
  assert.match(await read(github.content("one"), { firstLine: 9 }), /has 1 lines only/);
});

test("code is found with the lines around it", async () => {
  const seen = [];
  const answer = (parameters, init) => (seen.push(parameters.get("q"), init.headers.accept), github.code);
  const result = await call("search_code", { query: "addClass", repository: "jquery/jquery" }, { "/search/code": answer });

  assert.deepEqual(seen, ["addClass repo:jquery/jquery", "application/vnd.github.text-match+json"]);
  assert.match(result.text, /^1 found:\n\njquery\/jquery src\/attributes\/classes\.js\njQuery\.fn\.extend/);
});

test("an issue is created, and a comment added", async () => {
  const sent = [];
  const answer = (body) => (_, init) => (sent.push([init.method, JSON.parse(init.body)]), body);
  const issue = await call("create_issue", { repository: "octocat/Hello-World", title: " A bug ", labels: ["bug"] }, { "/repos/octocat/Hello-World/issues": answer(github.issue) });
  const comment = await call("add_comment", { repository: "octocat/Hello-World", number: 1347, body: "Me too" }, { [`${ISSUE}/comments`]: answer(github.comment) });

  assert.deepEqual(sent, [
    ["POST", { title: "A bug", body: "", labels: ["bug"] }],
    ["POST", { body: "Me too" }],
  ]);
  assert.deepEqual(issue.structuredContent, { number: 1347, url: github.issue.html_url });
  assert.equal(issue.content[0].uri, "kitbag://github/octocat/Hello-World/issues/1347");
  assert.deepEqual(comment.structuredContent, { url: github.comment.html_url });
});

test("the user is asked before an issue is created, where they can be", async () => {
  const arguments_ = { repository: "octocat/Hello-World", title: "A bug" };
  const sent = [];
  const answers = { "/repos/octocat/Hello-World/issues": (_, init) => (sent.push(init.method), github.issue) };

  const yes = await call("create_issue", arguments_, answers, { answers: { confirm: {} } });
  assert.match(yes.text, /^Created octocat/);
  assert.match(yes.trace.questions[0].message, /^Create the issue “A bug” in octocat\/Hello-World\?/);
  assert.deepEqual(sent, ["POST"], "it ran twice, and created one");
  for (const answer of ["decline", "cancel"]) {
    const no = await call("create_issue", arguments_, answers, { answers: { confirm: answer } });
    assert.match(no.error, /Nothing was changed/);
  }
  assert.deepEqual(sent, ["POST"]);
});

test("a token of the user's is sent, and without one that of the account", async () => {
  const seen = [];
  const answers = { "/search/repositories": (_, init) => (seen.push(init.headers.authorization), github.repositories) };
  await call("search_repositories", { query: "tetris" }, answers, { secrets: { GITHUB_TOKEN: "token-of-a-test" } });
  await call("search_repositories", { query: "tetris" }, answers);

  assert.deepEqual(seen, ["Bearer token-of-a-test", "Bearer gho_of-the-tests"]);
});

test("without either, the call says how to connect an account, and GitHub is not asked", async () => {
  const result = await call("search_repositories", { query: "tetris" }, {}, { account: undefined });

  assert.match(result.error, /Connect it with: kitbag toolkit sign-in github$/);
});

test("an account that GitHub does not accept is to be connected again", async () => {
  const signIn = { account: "gho_of-the-tests" };
  const result = await refused(github.errors.badCredentials, undefined, undefined, signIn);

  assert.match(result.error, /did not accept your connected account \(HTTP status 401\).*sign-in github$/);
});

test("errors say what helps, and whether another try does", async () => {
  const expected = {
    badCredentials: [/does not accept the token.*kitbag secret set github GITHUB_TOKEN --from-stdin$/, false],
    hourlyLimit: [/used up until 2026-01-01 00:00 UTC\. Requests with a sign-in have a higher limit\.$/, true],
    secondaryLimit: [/asks to wait 60 seconds/, true],
    tooMany: [/Wait a minute/, true],
    notPermitted: [/GitHub refuses this: Resource not accessible by personal access token\. The account or the token may lack/, false],
    singleSignOn: [/requires single sign-on: authorize the token/, false],
    notFound: [/^There is no issue #1347 in octocat\/Hello-World, or the account may not see it/, false],
    gone: [/any more, or issues are disabled/, false],
    invalid: [/^GitHub does not accept the request: Validation Failed: title missing_field\.$/, false],
    invalidSearch: [/cannot be searched either because the resources do not exist/, false],
    unavailable: [/^api\.github\.com answered with HTTP status 503$/, true],
  };
  for (const [name, [error, retryable]] of Object.entries(expected)) {
    const result = await refused(github.errors[name]);

    assert.equal(result.ok, false, name);
    assert.match(result.error, error, name);
    assert.equal(result.retryable, retryable, name);
  }
});

test("an error page and an answer of another shape are errors without their content", async () => {
  assert.match((await refused([403, "<html>"])).error, /^GitHub refuses this: it gives no reason\./);
  assert.match((await refused([422, "null"])).error, /it gives no reason/);
  assert.equal((await refused([200, "<html>"])).error, "api.github.com answered with malformed JSON (text/plain)");
  assert.match((await refused([200, { number: "1" }])).error, /^api\.github\.com answered with unexpected JSON at /);
});

test("what is no repository or path never reaches GitHub", async () => {
  for (const args of [{ repository: "octocat" }, { repository: "octocat/.." }, { repository: "a/b/c" }, { repository: "a/b", path: "../../user" }, { repository: "a/b", lines: 10_000 }]) {
    const result = await call("read_file", args);

    assert.equal(result.code, "INVALID_PARAMS", JSON.stringify(args));
    assert.deepEqual(result.trace.requests, []);
  }
});

test("two tools change something, and no tool destroys anything", () => {
  const writing = toolkit.manifest.tools.filter(({ annotations }) => !annotations.readOnlyHint);

  assert.deepEqual(writing.map(({ name }) => name), ["create_issue", "add_comment"]);
  for (const { annotations } of toolkit.manifest.tools) {
    assert.equal(annotations.destructiveHint, false);
    assert.equal(annotations.openWorldHint, true);
  }
});

/** What a user of the tests has, with answers by path. */
const world = (answers) => ({ account: "gho_of-the-tests", fetchImpl: (url) => Response.json(answers[decodeURIComponent(new URL(url).pathname)] ?? assert.fail(`${url} is requested`)) });

test("an issue is a resource", async () => {
  const { contents } = await readResource(toolkit, { uri: "octocat/Hello-World/issues/1347", ...world({ [ISSUE]: github.issue }) });

  assert.equal(contents.uri, "kitbag://github/octocat/Hello-World/issues/1347");
  assert.equal(contents.mimeType, "text/markdown");
  assert.match(contents.text, /^# octocat\/Hello-World#1347 Found a bug\n[^]*I'm having a problem with this\.$/);
});

test("the URI of no issue asks GitHub for nothing", async () => {
  for (const uri of ["octocat/Hello-World/issues/x", "octo cat/Hello-World/issues/1", "octocat/%2e%2e/issues/1", "octocat/a%2Fb/issues/1"]) {
    assert.equal((await readResource(toolkit, { uri, ...world({}) })).ok, false, uri);
  }
});

test("a triage has the open issues, and links to the first of them", async () => {
  const answers = { "/repos/octocat/Hello-World/issues": [github.issue, github.pullAsIssue] };
  const result = await getPrompt(toolkit, { prompt: "triage", arguments: { repository: "octocat/Hello-World", focus: "security" }, ...world(answers) });

  const [asked, link] = result.messages.map(({ content }) => content);
  assert.match(asked.text, /What matters most: security\.\n\n- #1347 Found a bug \(31 comments, updated 2011-04-23\)$/);
  assert.equal(link.uri, "kitbag://github/octocat/Hello-World/issues/1347");
  assert.equal(result.messages.length, 2);
});

test("a triage of no repository says what one is", async () => {
  const { error } = await getPrompt(toolkit, { prompt: "triage", arguments: { repository: "hello" }, ...world({}) });

  assert.equal(error, "must be owner/name, such as nodejs/node");
});

test("repositories are proposed by their names, and what matters from a list", async () => {
  const answers = { "/search/repositories": github.repositories };
  const found = await complete(toolkit, { prompt: "triage", argument: "repository", value: "tetris", ...world(answers) });
  const focus = await complete(toolkit, { prompt: "triage", argument: "focus", value: "Re" });

  assert.deepEqual(found.values, github.repositories.items.map((it) => it.full_name));
  assert.deepEqual(focus.values, ["regressions"]);
});
