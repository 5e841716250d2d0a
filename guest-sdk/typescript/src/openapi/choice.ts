// Choice of the operations that become tools.
import type { OperationSite } from "./operations.js";
import { DocumentError } from "./problem.js";
import { oneLine, snakeCase } from "./words.js";

/** Maximum number of tools without an explicit choice: with more, a model chooses worse. */
export const MAX_UNCHOSEN = 60;
/** Maximum number of tools of one toolkit. */
export const MAX_TOOLS = 300;

/**
 * Returns the operations chosen by tags, operation names and HTTP methods. The result is the union of the named operations
 * and those with a tag; methods restrict the tagged ones, or without tags the whole document. No words choose all.
 */
export function choose(sites: OperationSite[], words: readonly string[]): OperationSite[] {
  const methods = new Set<string>();
  const tags = new Set<string>();
  const named = new Set<OperationSite>();
  for (const word of words) {
    const operations = sites.filter((site) => namesOf(site).includes(word.toLowerCase()));
    const tagged = sites.filter((site) => site.tags.some((tag) => tag.toLowerCase() === word.toLowerCase()));
    if (/^(get|put|post|patch|delete)$/i.test(word)) methods.add(word.toUpperCase());
    else if (tagged.length > 0) tags.add(word.toLowerCase());
    else if (operations.length > 0) operations.forEach((it) => named.add(it));
    else throw new DocumentError(unknownWord(word, sites));
  }
  return sites.filter((site) => {
    if (named.has(site)) return true;
    if (tags.size === 0 && methods.size === 0) return named.size === 0;
    const isTagged = tags.size === 0 ? named.size === 0 : site.tags.some((tag) => tags.has(tag.toLowerCase()));
    return isTagged && (methods.size === 0 || methods.has(site.method));
  });
}

function namesOf({ id, method, path }: OperationSite): string[] {
  const names = [`${method} ${path}`, ...(id === undefined ? [] : [id, snakeCase(id)])];
  return names.map((it) => it.toLowerCase());
}

function unknownWord(word: string, sites: OperationSite[]): string {
  const known = [...new Set(sites.flatMap((site) => [...site.tags, ...(site.id === undefined ? [] : [site.id])]))].map(oneLine);
  const similar = known.find((it) => snakeCase(it) === snakeCase(word)) ?? known.find((it) => it.toLowerCase().includes(word.toLowerCase()));
  const hint = similar === undefined ? "--list shows what there is" : `did you mean ${JSON.stringify(similar)}?`;
  return `the document has no tag, operation or method ${JSON.stringify(word)}: ${hint}`;
}

/** Returns the message on how to choose from a document with too many operations. */
export function choiceNeeded(sites: OperationSite[]): string {
  const counts = new Map<string, number>();
  for (const { tags } of sites) for (const tag of tags.length > 0 ? tags : ["(no tag)"]) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  const shown = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 40);
  const lines = shown.map(([tag, count]) => `  ${String(count).padStart(5)}  ${oneLine(tag).slice(0, 60)}`);
  const more = counts.size > shown.length ? `\n  and ${counts.size - shown.length} more tags` : "";
  return (
    `the document has ${sites.length} operations, and a toolkit with more than ${MAX_UNCHOSEN} tools is hard to choose from.\n` +
    `Choose with --only TAG, --only OPERATION or --only METHOD, each as often as needed; --list shows all with their sizes. Tags:\n${lines.join("\n")}${more}`
  );
}
