// Issues as resources, which clients attach to conversations, and prompts about them.
import { prompt, resource, ToolError, type ToolContext, z } from "kitbag/extend/toolkit";

import { repositoryPath, request } from "./api";
import { ApiIssue, heading, issueOf, MAX_BODY_CHARS } from "./issues";
import { cut, number as issueNumber, repository as repositoryName } from "./shared";

const OPEN_ISSUES = 30;

/** Proposes repositories that users may mean, by the words that they have typed. */
async function repositories(typed: string, ctx: ToolContext): Promise<string[]> {
  if (typed.trim() === "") return [];
  const found = await request(ctx, {
    path: "/search/repositories",
    parameters: { q: `${typed} in:name`, per_page: 20 },
    schema: z.object({ items: z.array(z.object({ full_name: z.string() })) }),
    what: "such search",
  });
  return found.items.map((it) => it.full_name);
}

/** Checks what a user typed, or what a URI has, by the schema that tools have for it. */
function checked<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ToolError(result.error.issues.map(({ message }) => message).join("; "));
}

export const issue = resource({
  name: "issue",
  title: "An issue",
  description: "An issue or a pull request of a repository, as Markdown.",
  uri: "{owner}/{repository}/issues/{number}",
  mimeType: "text/markdown",
  handler: async (variables, ctx) => {
    const repository = checked(repositoryName, `${variables.owner}/${variables.repository}`);
    const number = checked(issueNumber, Number(variables.number));
    const found = await request(ctx, { path: repositoryPath(repository, "issues", number), schema: ApiIssue, what: `issue #${number} in ${repository}` });
    return `# ${heading(issueOf(found, repository))}\n\n${cut(found.body ?? "", MAX_BODY_CHARS)}`;
  },
});

export const triage = prompt({
  name: "triage",
  title: "Triage open issues",
  description: "Puts the newest open issues of a repository into the conversation, and asks for an order in which to work on them.",
  arguments: {
    repository: { description: "Repository as owner/name, such as nodejs/node", required: true, complete: repositories },
    focus: { description: "What matters most", values: ["security", "regressions", "documentation", "first contributions"] },
  },
  handler: async ({ repository: typed, focus }, ctx) => {
    const repository = checked(repositoryName, typed);
    const found = await request(ctx, {
      path: repositoryPath(repository, "issues"),
      parameters: { state: "open", per_page: OPEN_ISSUES },
      schema: z.array(ApiIssue),
      what: `repository ${repository}`,
    });
    const issues = found.filter((it) => it.pull_request == null);
    if (issues.length === 0) return `There are no open issues in ${repository}. Say so.`;
    const lines = issues.map((it) => `- #${it.number} ${it.title} (${it.comments} comments, updated ${it.updated_at.slice(0, 10)})`);
    const wanted = focus === undefined ? "" : ` What matters most: ${focus}.`;
    return {
      messages: [
        {
          role: "user",
          content: `These are the newest open issues of ${repository}. Group those that belong together, say which to work on first and why, and which need a question to their author.${wanted}\n\n${lines.join("\n")}`,
        },
        ...issues.slice(0, 3).map((it) => ({
          role: "user" as const,
          content: { type: "resource_link" as const, uri: `${repository}/issues/${it.number}`, name: `${repository}#${it.number}`, mimeType: "text/markdown" },
        })),
      ],
    };
  },
});
