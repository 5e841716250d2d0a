// Makes queries of arXiv's language from words.

/** What is searched for; each part that is set has to match. */
export interface SearchTerms {
  query?: string | undefined;
  title?: string | undefined;
  author?: string | undefined;
  category?: string | undefined;
  /** Day of the first submission, such as 2024-01-31. */
  since?: string | undefined;
  until?: string | undefined;
}

/** A query in arXiv's own language has a field, such as au:bengio. */
const HAS_FIELD = /(^|[\s(])(ti|au|abs|co|jr|cat|rn|id|all|submittedDate):/;

/** Returns a query; an empty one if nothing is searched for. */
export function searchQuery({ query, title, author, category, since, until }: SearchTerms): string {
  const own = query === undefined ? [] : HAS_FIELD.test(query) ? [`(${query})`] : wordsOf("all", query);
  const dates = since === undefined && until === undefined ? [] : [`submittedDate:[${day(since ?? "1991-01-01")}0000 TO ${day(until ?? "2999-12-31")}2359]`];
  return [...own, ...wordsOf("ti", title), ...wordsOf("au", author), ...(category === undefined ? [] : [`cat:${category}`]), ...dates].join(" AND ");
}

/** Returns a term for each word, and for each phrase in quotation marks. */
function wordsOf(field: string, text = ""): string[] {
  const terms = text.match(/"[^"]+"|[^\s"]+/g) ?? [];
  // These characters would be syntax of the query.
  const clean = terms.map((term) => term.replace(/[()[\]:]/g, " ").trim()).filter((term) => /[\p{L}\p{N}]/u.test(term));
  return clean.map((term) => `${field}:${/\s/.test(term) && !term.startsWith('"') ? `"${term}"` : term}`);
}

function day(date: string): string {
  return date.replaceAll("-", "");
}
