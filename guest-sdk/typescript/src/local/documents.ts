// A knowledge base in memory that applies the server's rules.
import { knowledgeError } from "../knowledge.js";
import { limitsOfCalls } from "../rules.js";
import type { SvcDocument, SvcIngestDoc, SvcSearchOptions, SvcSearchResult } from "../types.js";

/** Length of a snippet in UTF-16 code units. */
const SNIPPET_LENGTH = 200;

/**
 * Returns the documents that contain any word of the query; the score is the fraction of the words they
 * contain.
 */
export function searchDocuments(documents: SvcDocument[], query: string, options: SvcSearchOptions): SvcSearchResult[] {
  const { limit = limitsOfCalls().searchResults, source, author } = options;
  if (isBlank(query)) throw knowledgeError({ tag: "invalid", val: "query: is empty: say what to search for" });
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

const MUST_NOT_BE_EMPTY = "must not be empty";
const MEDIA_TYPE = /^[!#$&^_.+\w-]+\/[!#$&^_.+\w-]+\s*(;.*)?$/;

/**
 * Returns a message with path for each of the server's rules that a document breaks, except the length
 * limits.
 */
export function documentProblems(path: string, doc: SvcIngestDoc): string[] {
  const { feed, fileUrl, audioUrl } = doc;
  const hasFile = fileUrl != null || audioUrl != null;
  const hasTwo = fileUrl != null && audioUrl != null;
  const rules: [field: string, broken: string | false | undefined][] = [
    ["title", isBlank(doc.title) && MUST_NOT_BE_EMPTY],
    ["url", urlProblem(doc.url)],
    ["mimeType", typeProblem(doc, hasFile)],
    ["fileUrl", !hasTwo && urlProblem(fileUrl)],
    ["audioUrl", hasTwo ? "must not stand beside fileUrl: a document has one file" : urlProblem(audioUrl)],
    ["captureOnly", doc.captureOnly === true && !hasFile && "needs fileUrl or audioUrl: there is nothing to capture"],
    ["text", !hasFile && isBlank(doc.text) && "is required where there is neither fileUrl nor audioUrl"],
    ["feed.key", feed != null && isBlank(feed.key) && MUST_NOT_BE_EMPTY],
    ["feed.name", feed != null && isBlank(feed.name) && MUST_NOT_BE_EMPTY],
  ];
  return rules.flatMap(([field, broken]) => (broken ? [`${path}.${field}: ${broken}`] : []));
}

function isBlank(text: string | null | undefined): boolean {
  return text == null || text.trim() === "";
}

function urlProblem(given: string | null | undefined): string | undefined {
  if (given == null) return undefined;
  const absolute = "must be an absolute http or https URL";
  if (!URL.canParse(given)) return absolute;
  const url = new URL(given);
  if (url.protocol !== "http:" && url.protocol !== "https:") return absolute;
  return url.username !== "" || url.password !== "" ? "must not hold a user name or a password" : undefined;
}

function typeProblem({ mimeType, audioUrl }: SvcIngestDoc, hasFile: boolean): string | undefined {
  if (mimeType == null) return undefined;
  if (!hasFile) return "needs fileUrl: it says what that file is";
  if (!MEDIA_TYPE.test(mimeType.trim())) return "must be a media type such as application/pdf";
  if (audioUrl == null || /^\s*audio\//i.test(mimeType)) return undefined;
  return "must be a type of audio beside audioUrl; any other file goes into fileUrl";
}
