// Papers of arXiv, from its public API, without an account. Thank you to arXiv for use of its open access interoperability.
import { defineToolkit, tool, z, ToolError, type SvcIngestDoc } from "kitbag/extend/toolkit";

import { query, type Paper } from "./arxiv";
import { searchQuery } from "./search-query";

/** The API returns no results beyond this one. */
const MAX_RESULTS = 30_000;
const MAX_INGESTED = 20;
const MAX_NAMED_AUTHORS = 6;
const MAX_AUTHOR_CHARS = 500;

/** An id of either scheme, also in an address or with "arXiv:" before it. */
const paperId = z
  .string()
  .trim()
  .transform((text) => text.replace(/^(?:arxiv:|https?:\/\/(?:www\.|export\.)?arxiv\.org\/(?:abs|pdf|html)\/)/i, "").replace(/\.pdf$/i, ""))
  .refine((id) => /^(\d{4}\.\d{4,5}|[a-z-]+(\.[A-Z]{2})?\/\d{7})(v\d{1,3})?$/.test(id), "must be an id of arXiv, such as 1706.03762 or hep-th/9711200, or the address of a paper")
  .describe("Id of a paper, such as 1706.03762 or 1706.03762v7, or its address at arxiv.org");

const Paper = z.object({
  id: z.string().describe("Id without version"),
  version: z.number().optional(),
  title: z.string(),
  authors: z.array(z.string()),
  abstract: z.string(),
  categories: z.array(z.string()).describe("The primary category comes first"),
  published: z.string().describe("Time of the first version"),
  updated: z.string().describe("Time of this version"),
  doi: z.string().optional(),
  journal: z.string().optional(),
  comment: z.string().optional(),
  url: z.string(),
  pdf: z.string(),
});

const search = tool({
  name: "search_papers",
  title: "Search papers",
  description: "Searches arXiv for papers by words, title, author, category and date; all that is given has to match.",
  input: z
    .object({
      query: z.string().trim().min(1).max(500).optional().describe('Words or "phrases" anywhere in the record; also arXiv\'s own syntax, such as abs:diffusion ANDNOT ti:survey'),
      title: z.string().trim().min(1).max(300).optional().describe("Words of the title"),
      author: z.string().trim().min(1).max(200).optional().describe("Name of an author; the family name finds most"),
      category: z.string().regex(/^[a-z-]+(\.[A-Za-z-]{2,20})?$/, "must be a category such as cs.CL or hep-th").optional().describe("Such as cs.CL, math.NT or hep-th"),
      since: z.iso.date().optional().describe("Earliest day of the first submission"),
      until: z.iso.date().optional().describe("Latest day of the first submission"),
      sort: z.enum(["relevance", "submitted", "updated"]).default("relevance").describe("Best match, or newest first"),
      limit: z.number().int().min(1).max(50).default(10),
      offset: z.number().int().min(0).max(MAX_RESULTS).default(0).describe("Number of results to skip"),
    })
    .refine((terms) => searchQuery(terms) !== "", "needs something to search for: query, title, author, category or a date"),
  output: z.object({ total: z.number(), papers: z.array(Paper), nextOffset: z.number().optional().describe("Offset of the next results; absent after the last one") }),
  annotations: { readOnlyHint: true, openWorldHint: true },
  alwaysOn: true,
  handler: async ({ sort, limit, offset, ...terms }, ctx) => {
    const { total, papers } = await query(ctx, {
      search_query: searchQuery(terms),
      start: offset,
      max_results: limit,
      sortBy: { relevance: "relevance", submitted: "submittedDate", updated: "lastUpdatedDate" }[sort],
      sortOrder: "descending",
    });
    // The API sometimes sends an empty page of a search that has results.
    if (papers.length === 0 && offset < Math.min(total, MAX_RESULTS)) {
      throw new ToolError("arXiv's answer has none of the papers that it counts. Try again in a few seconds.", { retryable: true });
    }
    const end = offset + limit;
    const next = end < Math.min(total, MAX_RESULTS) ? { nextOffset: end } : {};
    const lines = papers.map((it) => `${it.id} ${it.title}\n  ${authorsOf(it)}, ${it.published.slice(0, 10)}, ${it.categories[0] ?? "no category"}`);
    const rest = next.nextOffset === undefined ? [] : [`There are more: offset ${next.nextOffset}.`];
    const text = papers.length === 0 ? "No papers were found." : [`${total} papers were found.`, ...lines, ...rest].join("\n");
    return { text, structured: { total, papers, ...next } };
  },
});

const read = tool({
  name: "read_paper",
  title: "Read about a paper",
  description: "Returns the abstract of a paper, its authors, dates, categories and addresses. The paper itself can be read once it is ingested.",
  input: z.object({ id: paperId }),
  output: Paper,
  annotations: { readOnlyHint: true, openWorldHint: true },
  handler: async ({ id }, ctx) => {
    const { papers: [paper] } = await query(ctx, { id_list: id, max_results: 1 });
    if (paper === undefined) throw unknown([id]);
    return { text: `${paper.title}\n\n${recordOf(paper)}\n${paper.url}`, structured: paper };
  },
});

const ingest = tool({
  name: "ingest_papers",
  title: "Ingest papers",
  description: "Puts papers into the user's knowledge base, with their PDF, which can be searched some seconds later. Ingesting a paper again brings it up to date.",
  input: z.object({ ids: z.array(paperId).min(1).max(MAX_INGESTED) }),
  output: z.object({ ingested: z.array(z.object({ id: z.string(), title: z.string(), url: z.string() })) }),
  mutating: true,
  annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: true },
  handler: async ({ ids }, ctx) => {
    const { papers } = await query(ctx, { id_list: ids.join(","), max_results: ids.length });
    const missing = ids.filter((id) => !papers.some((it) => it.id === withoutVersion(id)));
    if (missing.length > 0) throw unknown(missing);
    if (ctx.svc === undefined) throw new Error("the toolkit declares its scopes");
    await ctx.svc.ingest(papers.map(documentOf));
    ctx.log("ingested papers", { ids });
    const ingested = papers.map(({ id, title, url }) => ({ id, title, url }));
    return { text: `Ingested, and being read:\n${ingested.map((it) => `${it.id} ${it.title}`).join("\n")}`, structured: { ingested } };
  },
});

export default defineToolkit({
  id: "papers",
  name: "Papers",
  description: "Finds papers on arXiv, and keeps them with their PDF in your knowledge base.",
  icon: "📄",
  version: "1.0.0",
  author: "Kitbag",
  visibility: "shared",
  egress: ["export.arxiv.org"],
  scopes: ["svc:ingest"],
  tools: [search, read, ingest],
});

/** The server fetches the PDF; its text follows that of the record. */
function documentOf(paper: Paper): SvcIngestDoc {
  const category = paper.categories[0] ?? "uncategorized";
  return {
    title: paper.title,
    text: recordOf(paper),
    url: paper.url,
    author: paper.authors.join(", ").slice(0, MAX_AUTHOR_CHARS),
    fileUrl: paper.pdf,
    mimeType: "application/pdf",
    feed: { key: category, name: `arXiv ${category}`, label: "category" },
  };
}

/** Returns what is known of a paper besides its title, as text. */
function recordOf(it: Paper): string {
  const updated = it.updated.slice(0, 10) === it.published.slice(0, 10) ? "" : `, version ${it.version ?? "unknown"} of ${it.updated.slice(0, 10)}`;
  const lines = [
    `Authors: ${it.authors.join(", ")}`,
    `Published: ${it.published.slice(0, 10)}${updated}`,
    `Categories: ${it.categories.join(", ")}`,
    it.journal !== undefined && `Journal: ${it.journal}`,
    it.doi !== undefined && `DOI: ${it.doi}`,
    it.comment !== undefined && `Comment: ${it.comment}`,
  ];
  return `${lines.filter(Boolean).join("\n")}\n\n${it.abstract}`;
}

function authorsOf({ authors }: Paper): string {
  return authors.length > MAX_NAMED_AUTHORS ? `${authors[0]} and ${authors.length - 1} others` : authors.join(", ");
}

function withoutVersion(id: string): string {
  return id.replace(/v\d+$/, "");
}

function unknown(ids: string[]): ToolError {
  return new ToolError(`arXiv has no paper ${ids.join(", ")}. Find its id by search_papers.`);
}
