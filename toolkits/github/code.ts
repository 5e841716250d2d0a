// The tools for repositories and the files in them.
import { tool, z, ToolError } from "kitbag/extend/toolkit";

import { repositoryPath, request } from "./api";
import { cut, limit, more, nextPage, page, repository, searchPageAfter } from "./shared";

const MAX_LINES = 2000;
const MAX_FILE_CHARS = 100_000;
const MAX_ENTRIES = 1000;
const MAX_FRAGMENT_CHARS = 1000;

const Entry = z.object({ name: z.string(), path: z.string(), type: z.string(), size: z.number() });

/** The answer for a path with the media type "object": a directory has its entries in a member. */
const ApiContent = z.object({
  type: z.string(),
  path: z.string(),
  size: z.number().default(0),
  html_url: z.string().nullish(),
  encoding: z.string().optional(),
  content: z.string().optional(),
  entries: z.array(Entry).optional(),
  target: z.string().optional(),
  submodule_git_url: z.string().nullish(),
});

const ApiRepositories = z.object({
  total_count: z.number(),
  items: z.array(
    z.object({
      full_name: z.string(),
      description: z.string().nullish(),
      html_url: z.string(),
      language: z.string().nullish(),
      stargazers_count: z.number(),
      default_branch: z.string(),
      archived: z.boolean(),
      private: z.boolean(),
      pushed_at: z.string().nullish(),
    }),
  ),
});

const ApiCode = z.object({
  total_count: z.number(),
  incomplete_results: z.boolean(),
  items: z.array(
    z.object({
      path: z.string(),
      html_url: z.string(),
      repository: z.object({ full_name: z.string() }),
      text_matches: z.array(z.object({ fragment: z.string().nullish() })).nullish(),
    }),
  ),
});

export const readFile = tool({
  name: "read_file",
  title: "Read a file or list a folder",
  description: "Reads a text file of a repository, whole or in part, or lists a folder. The empty path is the repository's root.",
  input: z.object({
    repository,
    path: z
      .string()
      .max(4096)
      .refine((path) => !path.split("/").some((part) => part === "." || part === ".."), "must not have the parts . or ..")
      .default("")
      .describe("Path in the repository, such as src/index.ts"),
    ref: z.string().min(1).max(255).optional().describe("Branch, tag or commit; by default the default branch"),
    firstLine: z.number().int().min(1).default(1).describe("Line of the file to begin at"),
    lines: z.number().int().min(1).max(MAX_LINES).default(500).describe("Number of lines of a file"),
  }),
  output: z.object({
    kind: z.enum(["file", "folder"]),
    path: z.string(),
    url: z.string().optional(),
    text: z.string().optional().describe("The lines of a file"),
    totalLines: z.number().optional(),
    nextLine: z.number().optional().describe("First line that is not shown"),
    entries: z.array(Entry).optional().describe("What a folder holds"),
  }),
  annotations: { readOnlyHint: true, openWorldHint: true },
  handler: async ({ repository, path, ref, firstLine, lines }, ctx) => {
    const parts = path.split("/").filter((part) => part !== "");
    const found = await request(ctx, {
      path: repositoryPath(repository, "contents", ...parts),
      parameters: { ref },
      accept: "application/vnd.github.object+json",
      schema: ApiContent,
      what: `file or folder ${JSON.stringify(parts.join("/"))} in ${repository}${ref === undefined ? "" : ` at ${ref}`}`,
    });
    const of = { path: found.path, ...(found.html_url != null && { url: found.html_url }) };
    switch (found.type) {
      case "dir": {
        const entries = (found.entries ?? []).slice(0, MAX_ENTRIES);
        const text = entries.map((it) => (it.type === "dir" ? `${it.name}/` : `${it.name} (${it.size} bytes)`)).join("\n");
        return { text: text || "The folder is empty.", structured: { kind: "folder" as const, ...of, entries } };
      }
      case "file": {
        const all = textOf(found).split("\n");
        if (firstLine > all.length) throw new ToolError(`The file has ${all.length} lines only.`);
        const end = firstLine - 1 + lines;
        const text = cut(all.slice(firstLine - 1, end).join("\n"), MAX_FILE_CHARS);
        const next = end < all.length ? { nextLine: end + 1 } : {};
        const rest = next.nextLine === undefined ? "" : `\n\n[The file has ${all.length} lines; continue with firstLine ${next.nextLine}.]`;
        return { text: text + rest, structured: { kind: "file" as const, ...of, text, totalLines: all.length, ...next } };
      }
      case "submodule":
        throw new ToolError(`${found.path} is a submodule; its files are in ${found.submodule_git_url ?? "another repository"}.`);
      default:
        throw new ToolError(`${found.path} is a link to ${found.target ?? "another place"}; read that instead.`);
    }
  },
});

export const searchRepositories = tool({
  name: "search_repositories",
  title: "Search repositories",
  description: "Searches repositories of GitHub by words and by GitHub's own qualifiers, such as language:rust or org:nodejs.",
  input: z.object({
    query: z.string().trim().min(1).max(256).describe("Words and qualifiers, as on github.com"),
    sort: z.enum(["best_match", "stars", "updated"]).default("best_match"),
    limit,
    page,
  }),
  output: z.object({
    total: z.number(),
    repositories: z.array(
      z.object({
        repository: z.string(),
        description: z.string(),
        language: z.string().optional(),
        stars: z.number(),
        defaultBranch: z.string(),
        archived: z.boolean(),
        private: z.boolean(),
        pushedAt: z.string().optional(),
        url: z.string(),
      }),
    ),
    nextPage,
  }),
  annotations: { readOnlyHint: true, openWorldHint: true },
  handler: async ({ query, sort, limit, page }, ctx) => {
    const found = await request(ctx, {
      path: "/search/repositories",
      parameters: { q: query, sort: sort === "best_match" ? undefined : sort, per_page: limit, page },
      schema: ApiRepositories,
      what: "such search",
    });
    const repositories = found.items.map((it) => ({
      repository: it.full_name,
      description: it.description ?? "",
      ...(it.language != null && { language: it.language }),
      stars: it.stargazers_count,
      defaultBranch: it.default_branch,
      archived: it.archived,
      private: it.private,
      ...(it.pushed_at != null && { pushedAt: it.pushed_at }),
      url: it.html_url,
    }));
    const next = searchPageAfter(page, limit, found.total_count);
    const lines = repositories.map((it) => `${it.repository} (${it.stars} stars${it.language === undefined ? "" : `, ${it.language}`}${it.archived ? ", archived" : ""}) ${it.description}`);
    const text = lines.length === 0 ? "Nothing was found." : `${found.total_count} found:\n${lines.join("\n")}${more(next)}`;
    return { text, structured: { total: found.total_count, repositories, ...next } };
  },
});

export const searchCode = tool({
  name: "search_code",
  title: "Search code",
  description: "Searches the files of repositories by their content, such as \"addClass in:file language:js\". GitHub requires a sign-in for it.",
  input: z.object({
    query: z.string().trim().min(1).max(256).describe("Words and qualifiers of GitHub's code search"),
    repository: repository.optional(),
    limit,
    page,
  }),
  output: z.object({
    total: z.number(),
    incomplete: z.boolean(),
    files: z.array(z.object({ repository: z.string(), path: z.string(), url: z.string(), fragments: z.array(z.string()) })),
    nextPage,
  }),
  annotations: { readOnlyHint: true, openWorldHint: true },
  handler: async ({ query, repository, limit, page }, ctx) => {
    const found = await request(ctx, {
      path: "/search/code",
      parameters: { q: repository === undefined ? query : `${query} repo:${repository}`, per_page: limit, page },
      accept: "application/vnd.github.text-match+json",
      schema: ApiCode,
      what: `such search${repository === undefined ? "" : ` in ${repository}`}`,
    });
    const files = found.items.map((it) => ({
      repository: it.repository.full_name,
      path: it.path,
      url: it.html_url,
      fragments: (it.text_matches ?? []).flatMap(({ fragment }) => (fragment == null ? [] : [cut(fragment, MAX_FRAGMENT_CHARS)])),
    }));
    const next = searchPageAfter(page, limit, found.total_count);
    const parts = files.map((it) => [`${it.repository} ${it.path}`, ...it.fragments].join("\n"));
    const text = parts.length === 0 ? "Nothing was found." : `${found.total_count} found:\n\n${parts.join("\n\n")}${more(next)}`;
    return { text, structured: { total: found.total_count, incomplete: found.incomplete_results, files, ...next } };
  },
});

/** Returns the text of a file; throws a `ToolError` if it has none, or is too large for the API. */
function textOf({ path, size, encoding, content, html_url: url }: z.output<typeof ApiContent>): string {
  // The API sends no content of files beyond a megabyte.
  if (encoding !== "base64" || content === undefined) {
    throw new ToolError(`${path} has ${size} bytes, which is too large to read here. It is at ${url ?? "github.com"}.`);
  }
  try {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ToolError(`${path} is not a text file (${size} bytes). It is at ${url ?? "github.com"}.`);
  }
}
