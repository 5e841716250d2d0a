// The tool for pull requests: what one changes. Its conversation is read as that of an issue.
import { tool, z } from "kitbag/extend/toolkit";

import { repositoryPath, request } from "./api";
import { cut, loginOf, more, nextPage, number, page, pageAfter, repository, User } from "./shared";

const MAX_BODY_CHARS = 20_000;
const FILES_PER_PAGE = 50;
/** GitHub lists no more files than this of a pull request. */
const MAX_FILES = 3000;
const MAX_PATCH_CHARS = 8_000;
/** Characters of all patches in one result; files beyond are listed without theirs. */
const MAX_PATCHES_CHARS = 60_000;

const Branch = z.object({ label: z.string().nullish(), ref: z.string(), sha: z.string() });

const ApiPull = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  draft: z.boolean().nullish(),
  merged: z.boolean().nullish(),
  mergeable: z.boolean().nullish(),
  user: User,
  body: z.string().nullish(),
  html_url: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  base: Branch,
  head: Branch,
  commits: z.number(),
  additions: z.number(),
  deletions: z.number(),
  changed_files: z.number(),
});

const ApiFile = z.object({
  filename: z.string(),
  previous_filename: z.string().optional(),
  status: z.string(),
  additions: z.number(),
  deletions: z.number(),
  // Absent for binary files, and for changes that are too large.
  patch: z.string().optional(),
});

const ChangedFile = z.object({
  path: z.string(),
  previousPath: z.string().optional(),
  status: z.string().describe("added, modified, removed, renamed, …"),
  additions: z.number(),
  deletions: z.number(),
  patch: z.string().optional().describe("Unified diff; absent for binary files, and where the result would be too long"),
});

export const readPullRequest = tool({
  name: "read_pull_request",
  title: "Read a pull request",
  description: "Reads a pull request with the files that it changes and their diff. Its comments are read by read_issue, with the same number.",
  input: z.object({ repository, number, page: page.describe(`Page of the changed files, from 1, ${FILES_PER_PAGE} each`) }),
  output: z.object({
    number: z.number(),
    title: z.string(),
    state: z.string().describe("open, closed, merged or draft"),
    mergeable: z.boolean().optional(),
    author: z.string(),
    body: z.string(),
    base: z.string(),
    head: z.string(),
    headCommit: z.string().describe("To read files of the pull request by read_file"),
    commits: z.number(),
    additions: z.number(),
    deletions: z.number(),
    changedFiles: z.number(),
    files: z.array(ChangedFile),
    url: z.string(),
    nextPage,
  }),
  annotations: { readOnlyHint: true, openWorldHint: true },
  handler: async ({ repository, number, page }, ctx) => {
    const what = `pull request #${number} in ${repository}`;
    const [pull, changed] = await Promise.all([
      request(ctx, { path: repositoryPath(repository, "pulls", number), schema: ApiPull, what }),
      request(ctx, {
        path: repositoryPath(repository, "pulls", number, "files"),
        parameters: { per_page: FILES_PER_PAGE, page },
        schema: z.array(ApiFile),
        what,
      }),
    ]);
    const files = withBoundedPatches(changed);
    const next = pageAfter(page, FILES_PER_PAGE, Math.min(pull.changed_files, MAX_FILES));
    const structured = {
      number,
      title: pull.title,
      state: pull.merged === true ? "merged" : pull.draft === true ? "draft" : pull.state,
      // Unknown while GitHub computes it.
      ...(pull.mergeable != null && { mergeable: pull.mergeable }),
      author: loginOf(pull.user),
      body: cut(pull.body ?? "", MAX_BODY_CHARS),
      base: pull.base.ref,
      head: pull.head.label ?? pull.head.ref,
      headCommit: pull.head.sha,
      commits: pull.commits,
      additions: pull.additions,
      deletions: pull.deletions,
      changedFiles: pull.changed_files,
      files,
      url: pull.html_url,
      ...next,
    };
    const heading = [
      `${repository}#${number} ${pull.title}`,
      `${structured.state}, by ${structured.author}, ${structured.head} into ${structured.base}`,
      `${pull.commits} commits, ${pull.changed_files} files, +${pull.additions} −${pull.deletions}`,
      pull.html_url,
    ];
    const text = [heading.join("\n"), page === 1 && structured.body, ...files.map(fileText)].filter(Boolean).join("\n\n");
    return { text: text + more(next), structured };
  },
});

/** Returns the files with as much of their diff as one result may hold. */
function withBoundedPatches(files: z.output<typeof ApiFile>[]): z.output<typeof ChangedFile>[] {
  let left = MAX_PATCHES_CHARS;
  return files.map((it) => {
    const patch = it.patch === undefined ? undefined : cut(it.patch, MAX_PATCH_CHARS);
    const fits = patch !== undefined && patch.length <= left;
    if (fits) left -= patch.length;
    return {
      path: it.filename,
      ...(it.previous_filename !== undefined && { previousPath: it.previous_filename }),
      status: it.status,
      additions: it.additions,
      deletions: it.deletions,
      ...(fits && { patch }),
    };
  });
}

function fileText(it: z.output<typeof ChangedFile>): string {
  const from = it.previousPath === undefined ? "" : ` (from ${it.previousPath})`;
  return `${it.status} ${it.path}${from}, +${it.additions} −${it.deletions}\n${it.patch ?? "[diff not shown]"}`;
}
