// In-memory knowledge base with the server's rules.
import { knowledgeError } from "../knowledge.js";
import { problemLines, type Problem } from "../problems.js";
import { checkedDocuments, limitsOfCalls, searchProblems } from "../rules.js";
import type { SvcDocument, SvcIngestDoc, SvcSearchOptions, SvcSearchResult } from "../types.js";

/** Length of a snippet in UTF-16 code units. */
const SNIPPET_LENGTH = 200;

/**
 * Returns the documents that contain any word of the query. The score is the fraction of the query's words that the
 * document contains.
 */
export function searchDocuments(documents: SvcDocument[], query: string, options: SvcSearchOptions): SvcSearchResult[] {
  const { limit = limitsOfCalls().searchResults, source, author } = options;
  refuse(searchProblems(query, limit));
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return documents
    .filter((document) => source === undefined || document.source === source)
    .filter((document) => author === undefined || document.author?.toLowerCase() === author.toLowerCase())
    .map(({ text, ...document }) => {
      const searched = `${document.title} ${text}`.toLowerCase();
      const score = words.filter((word) => searched.includes(word)).length / words.length;
      return { document, snippet: text.slice(0, SNIPPET_LENGTH), score };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}

/** Throws a `ToolError` that lists all problems of a batch of documents. */
export function checkDocuments(docs: SvcIngestDoc[]): void {
  refuse(checkedDocuments(docs).problems ?? []);
}

function refuse(problems: Problem[]): void {
  if (problems.length > 0) throw knowledgeError({ tag: "invalid", val: problemLines(problems) });
}
