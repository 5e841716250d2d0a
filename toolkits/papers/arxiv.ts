// The API of arXiv (https://info.arxiv.org/help/api): requests, and its Atom answers as papers.
import { ToolError, type ToolContext } from "kitbag/extend/toolkit";
import { Parser } from "htmlparser2";

/** A paper as arXiv describes it. */
export interface Paper {
  /** Id without version, such as 1706.03762 or hep-th/9711200. */
  id: string;
  version?: number;
  title: string;
  authors: string[];
  abstract: string;
  /** The primary category comes first. */
  categories: string[];
  published: string;
  updated: string;
  doi?: string;
  journal?: string;
  comment?: string;
  url: string;
  pdf: string;
}

/** One page of results. */
export interface Results {
  total: number;
  papers: Paper[];
}

/** Characters of an answer that are read: 50 papers take some 200,000. */
const MAX_ANSWER_CHARS = 4_000_000;
const MAX_AUTHORS = 500;
/** Deeper than any answer; the time that the parser takes for an element grows with its depth. */
const MAX_DEPTH = 20;

/** Asks the API for a page of papers. */
export async function query(ctx: ToolContext, parameters: Record<string, string | number>): Promise<Results> {
  const url = new URL("https://export.arxiv.org/api/query");
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, String(value));
  let response: Response;
  let text: string;
  try {
    response = await ctx.fetch(url);
    text = await response.text();
  } catch (error) {
    throw new ToolError(`arXiv gave no answer: ${error instanceof Error ? error.message : "network error"}`, { retryable: true });
  }
  const answer = text.length > MAX_ANSWER_CHARS ? undefined : parse(text);
  if (answer?.error !== undefined) throw new ToolError(`arXiv does not accept the request: ${answer.error}`);
  if (!response.ok) throw statusError(response);
  // An answer that breaks off is as good as none: its papers may lack anything.
  if (answer === undefined) throw new ToolError("arXiv's answer is not the list of papers that it should be. Try again in a minute.", { retryable: true });
  return answer;
}

function statusError({ status, headers }: Response): ToolError {
  if (status === 429 || status === 503) {
    const wait = Number(headers.get("retry-after"));
    return new ToolError(`arXiv has had too many requests. Wait ${wait > 0 ? `${wait} seconds` : "a minute"} before the next one.`, { retryable: true });
  }
  return new ToolError(`export.arxiv.org answered with HTTP status ${status}`, { retryable: status >= 500 });
}

/** An entry of the answer while it is read: texts of its elements, and attributes of those that have no text. */
interface Entry {
  texts: Map<string, string[]>;
  categories: string[];
  primary: string | undefined;
}

/** Parses an answer; returns `undefined` if it is no whole Atom feed. */
function parse(xml: string): (Results & { error?: string }) | undefined {
  const path: string[] = [];
  const entries: Entry[] = [];
  let [total, isComplete, text] = ["", false, ""];
  const parser = new Parser(
    {
      onopentag(name, { term }) {
        if (path.length === MAX_DEPTH) throw new TooDeep();
        path.push(name);
        text = "";
        const at = path.join("/");
        if (at === "feed/entry") entries.push({ texts: new Map(), categories: [], primary: undefined });
        const entry = entries.at(-1);
        if (at === "feed/entry/category" && term !== undefined) entry!.categories.push(term);
        if (at === "feed/entry/arxiv:primary_category") entry!.primary = term;
      },
      ontext(part) {
        text += part;
      },
      onclosetag(_, isImplied) {
        const at = path.join("/");
        path.pop();
        if (at === "feed") isComplete = !isImplied;
        if (at === "feed/opensearch:totalResults") total = text.trim();
        if (!at.startsWith("feed/entry/")) return;
        const { texts } = entries.at(-1)!;
        const key = at.slice("feed/entry/".length);
        const values = texts.get(key) ?? [];
        texts.set(key, values);
        if (values.length < MAX_AUTHORS) values.push(line(text));
        text = "";
      },
    },
    { xmlMode: true },
  );
  try {
    parser.end(xml);
  } catch (error) {
    if (error instanceof TooDeep) return undefined;
    throw error;
  }
  if (!isComplete || !/^\d+$/.test(total)) return undefined;
  // Errors come as an entry, whatever the status is.
  const error = entries.find(({ texts }) => /\/api\/errors/.test(texts.get("id")?.[0] ?? ""));
  const papers = error === undefined ? entries.flatMap((it) => paperOf(it) ?? []) : [];
  return { total: Number(total), papers, ...(error !== undefined && { error: error.texts.get("summary")?.[0]?.slice(0, 300) ?? "it gives no reason" }) };
}

class TooDeep extends Error {}

function paperOf({ texts, categories, primary }: Entry): Paper | undefined {
  const first = (name: string) => texts.get(name)?.[0] || undefined;
  const [, id, version] = /\/abs\/(.+?)(?:v(\d+))?$/.exec(first("id") ?? "") ?? [];
  if (id === undefined) return undefined;
  const [doi, journal, comment] = [first("arxiv:doi"), first("arxiv:journal_ref"), first("arxiv:comment")];
  return {
    id,
    ...(version !== undefined && { version: Number(version) }),
    title: first("title") ?? id,
    authors: (texts.get("author/name") ?? []).filter((name) => name !== ""),
    abstract: first("summary") ?? "",
    categories: primary === undefined ? categories : [primary, ...categories.filter((it) => it !== primary)],
    published: first("published") ?? "",
    updated: first("updated") ?? "",
    ...(doi !== undefined && { doi }),
    ...(journal !== undefined && { journal }),
    ...(comment !== undefined && { comment }),
    url: `https://arxiv.org/abs/${id}`,
    // With its version, so that a new version of a paper is another file.
    pdf: `https://arxiv.org/pdf/${id}${version === undefined ? "" : `v${version}`}`,
  };
}

/** Returns a text on one line: arXiv breaks titles and abstracts into lines. */
function line(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
