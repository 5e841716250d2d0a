// What several tools have in common: arguments, and how results are written.
import { z } from "kitbag/extend/toolkit";

export const repository = z
  .string()
  .regex(/^[A-Za-z0-9-]{1,39}\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/, "must be owner/name, such as nodejs/node")
  .describe("Repository as owner/name, such as nodejs/node");

export const number = z.number().int().min(1).describe("Number of the issue or pull request, as in #123");

export const page = z.number().int().min(1).max(1000).default(1).describe("Page of the results, from 1");

export const limit = z.number().int().min(1).max(50).default(20).describe("Results per page");

/** The next page of a list, for the result. */
export const nextPage = z.number().int().optional().describe("Page to ask for next; absent on the last one");

/** A search finds at most this many results, whatever its total is. */
const MAX_SEARCH_RESULTS = 1000;

/** Returns the next page of a list of `total` entries, if there is one. */
export function pageAfter(page: number, perPage: number, total: number): { nextPage?: number } {
  return page * perPage < total ? { nextPage: page + 1 } : {};
}

/** Returns the next page of a search. */
export function searchPageAfter(page: number, perPage: number, total: number): { nextPage?: number } {
  return pageAfter(page, perPage, Math.min(total, MAX_SEARCH_RESULTS));
}

/** Returns the end of a text result: how to get the next page. */
export function more({ nextPage }: { nextPage?: number }): string {
  return nextPage === undefined ? "" : `\n\nThere are more: page ${nextPage}.`;
}

/** Cuts a text of others to a number of characters, and says so. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters)}\n[cut: ${text.length - characters} more characters]`;
}

/** A user of GitHub as the API has it; `null` for a deleted account. */
export const User = z.object({ login: z.string() }).nullish();

export function loginOf(user: z.output<typeof User>): string {
  return user?.login ?? "ghost";
}
