// The tools for issues; GitHub's pull requests are issues, too.
import { tool, z } from "kitbag/extend/toolkit";

import { repositoryPath, request } from "./api";
import { confirm } from "./confirm";
import { cut, limit, loginOf, more, nextPage, number, page, pageAfter, repository, searchPageAfter, User } from "./shared";

export const MAX_BODY_CHARS = 20_000;
const MAX_COMMENT_CHARS = 5_000;
const COMMENTS_PER_PAGE = 30;

export const ApiIssue = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  state_reason: z.string().nullish(),
  user: User,
  body: z.string().nullish(),
  labels: z.array(z.union([z.string(), z.object({ name: z.string().nullish() })])),
  assignees: z.array(z.object({ login: z.string() })).nullish(),
  comments: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
  closed_at: z.string().nullish(),
  html_url: z.string(),
  repository_url: z.string().optional(),
  pull_request: z.object({ merged_at: z.string().nullish() }).nullish(),
});

const ApiSearch = z.object({ total_count: z.number(), incomplete_results: z.boolean(), items: z.array(ApiIssue) });

const ApiComment = z.object({
  user: User,
  body: z.string().nullish(),
  created_at: z.string(),
  html_url: z.string(),
});

const Issue = z.object({
  repository: z.string(),
  number: z.number(),
  title: z.string(),
  kind: z.enum(["issue", "pull_request"]),
  state: z.string().describe("open, closed, or merged for a pull request"),
  author: z.string(),
  labels: z.array(z.string()),
  assignees: z.array(z.string()),
  comments: z.number(),
  createdAt: z.string(),
  updatedAt: z.string(),
  url: z.string(),
});

const Comment = z.object({ author: z.string(), body: z.string(), createdAt: z.string(), url: z.string() });

export const searchIssues = tool({
  name: "search_issues",
  title: "Search issues and pull requests",
  description: "Searches issues or pull requests of GitHub by words and by GitHub's own qualifiers, such as label:bug or author:octocat.",
  input: z.object({
    query: z.string().trim().min(1).max(256).describe("Words and qualifiers, as on github.com"),
    kind: z.enum(["issue", "pull_request"]).default("issue"),
    repository: repository.optional(),
    state: z.enum(["open", "closed", "any"]).default("open"),
    sort: z.enum(["best_match", "created", "updated", "comments"]).default("best_match"),
    limit,
    page,
  }),
  output: z.object({ total: z.number(), incomplete: z.boolean(), issues: z.array(Issue), nextPage }),
  annotations: { readOnlyHint: true, openWorldHint: true },
  alwaysOn: true,
  handler: async ({ query, kind, repository, state, sort, limit, page }, ctx) => {
    // GitHub refuses searches of most tokens without one of the two.
    const qualifiers = [kind === "issue" ? "is:issue" : "is:pull-request", repository && `repo:${repository}`, state !== "any" && `state:${state}`];
    const found = await request(ctx, {
      path: "/search/issues",
      parameters: {
        q: [query, ...qualifiers].filter(Boolean).join(" "),
        sort: sort === "best_match" ? undefined : sort,
        per_page: limit,
        page,
      },
      schema: ApiSearch,
      what: `such search${repository === undefined ? "" : ` in ${repository}`}`,
    });
    const issues = found.items.map((it) => issueOf(it));
    const next = searchPageAfter(page, limit, found.total_count);
    const lines = issues.map((it) => `${it.repository}#${it.number} ${it.title} (${it.state}, ${it.comments} comments, updated ${it.updatedAt.slice(0, 10)})`);
    const text = lines.length === 0 ? "Nothing was found." : `${found.total_count} found:\n${lines.join("\n")}${more(next)}`;
    const note = found.incomplete_results ? "\n\nGitHub ran out of time: there may be more than these." : "";
    return { text: text + note, structured: { total: found.total_count, incomplete: found.incomplete_results, issues, ...next } };
  },
});

export const readIssue = tool({
  name: "read_issue",
  title: "Read an issue",
  description: "Reads an issue, or the conversation of a pull request, with its comments.",
  input: z.object({ repository, number, page: page.describe("Page of the comments, from 1, oldest first") }),
  output: z.object({ issue: Issue, body: z.string(), comments: z.array(Comment), nextPage }),
  annotations: { readOnlyHint: true, openWorldHint: true },
  handler: async ({ repository, number, page }, ctx) => {
    const what = `issue #${number} in ${repository}`;
    const [found, comments] = await Promise.all([
      request(ctx, { path: repositoryPath(repository, "issues", number), schema: ApiIssue, what }),
      request(ctx, {
        path: repositoryPath(repository, "issues", number, "comments"),
        parameters: { per_page: COMMENTS_PER_PAGE, page },
        schema: z.array(ApiComment),
        what,
      }),
    ]);
    const issue = issueOf(found, repository);
    const body = cut(found.body ?? "", MAX_BODY_CHARS);
    const shown = comments.map((it) => ({
      author: loginOf(it.user),
      body: cut(it.body ?? "", MAX_COMMENT_CHARS),
      createdAt: it.created_at,
      url: it.html_url,
    }));
    const next = pageAfter(page, COMMENTS_PER_PAGE, found.comments);
    const text = [heading(issue), page === 1 && body, ...shown.map((it) => `--- ${it.author}, ${it.createdAt}\n${it.body}`)];
    return { text: text.filter(Boolean).join("\n\n") + more(next), structured: { issue, body, comments: shown, ...next } };
  },
});

export const createIssue = tool({
  name: "create_issue",
  title: "Create an issue",
  description: "Creates an issue in a repository, in the name of the user. Everybody who sees the repository can read it.",
  input: z.object({
    repository,
    title: z.string().trim().min(1).max(256),
    body: z.string().max(65_536).default("").describe("Text in Markdown"),
    labels: z.array(z.string().min(1).max(50)).max(20).default([]).describe("Names of labels that the repository has"),
  }),
  output: z.object({ number: z.number(), url: z.string() }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  mutating: true,
  handler: async ({ repository, ...body }, ctx) => {
    await confirm(ctx, `Create the issue “${body.title}” in ${repository}? Everybody who sees the repository can read it.`);
    const { number, html_url: url } = await request(ctx, {
      path: repositoryPath(repository, "issues"),
      body,
      schema: z.object({ number: z.number(), html_url: z.string() }),
      what: `repository ${repository}`,
    });
    ctx.log("created an issue", { repository, number });
    const link = { type: "resource_link" as const, uri: `${repository}/issues/${number}`, name: `${repository}#${number}`, mimeType: "text/markdown" };
    return { text: `Created ${repository}#${number}: ${url}`, structured: { number, url }, content: [link] };
  },
});

export const addComment = tool({
  name: "add_comment",
  title: "Comment on an issue",
  description: "Adds a comment to an issue or a pull request, in the name of the user. Everybody who sees the repository can read it.",
  input: z.object({ repository, number, body: z.string().trim().min(1).max(65_536).describe("Text in Markdown") }),
  output: z.object({ url: z.string() }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  mutating: true,
  handler: async ({ repository, number, body }, ctx) => {
    const { html_url: url } = await request(ctx, {
      path: repositoryPath(repository, "issues", number, "comments"),
      body: { body },
      schema: z.object({ html_url: z.string() }),
      what: `issue #${number} in ${repository}`,
    });
    ctx.log("added a comment", { repository, number });
    return { text: `Added the comment: ${url}`, structured: { url } };
  },
});

export function issueOf(it: z.output<typeof ApiIssue>, repository?: string): z.output<typeof Issue> {
  return {
    // A search names the repository by its URL alone.
    repository: repository ?? it.repository_url?.split("/").slice(-2).join("/") ?? "",
    number: it.number,
    title: it.title,
    kind: it.pull_request == null ? "issue" : "pull_request",
    state: it.pull_request?.merged_at == null ? it.state : "merged",
    author: loginOf(it.user),
    labels: it.labels.map((label) => (typeof label === "string" ? label : (label.name ?? ""))).filter((name) => name !== ""),
    assignees: it.assignees?.map(({ login }) => login) ?? [],
    comments: it.comments,
    createdAt: it.created_at,
    updatedAt: it.updated_at,
    url: it.html_url,
  };
}

export function heading(it: z.output<typeof Issue>): string {
  const labels = it.labels.length === 0 ? "" : `, labels: ${it.labels.join(", ")}`;
  return `${it.repository}#${it.number} ${it.title}\n${it.state}, by ${it.author}, ${it.createdAt.slice(0, 10)}${labels}\n${it.url}`;
}
