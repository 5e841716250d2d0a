// Turns HTML into plain text, and finds the feeds that a page names.
import { parseMarkup } from "./markup";

const SKIPPED = new Set(["script", "style", "template", "iframe", "object", "svg", "head", "title"]);
const BLOCKS = new Set(
  "address article aside blockquote dd details div dl dt fieldset figcaption figure footer form header hr main nav ol p pre section summary table tr ul".split(" "),
);
const FEED_TYPES = ["application/rss+xml", "application/atom+xml", "application/feed+json"];
const MAX_FEEDS = 10;

/** Returns the text of HTML: a line for each line and list item, and an empty line between blocks. */
export function textOfHtml(html: string): string {
  const parts: string[] = [];
  let [skipped, preformatted] = [0, 0];
  const handler = {
    onopentag(name: string, { alt }: Record<string, string>) {
      if (SKIPPED.has(name)) skipped += 1;
      if (skipped > 0) return;
      if (name === "pre") preformatted += 1;
      if (name === "br") parts.push("\n");
      else if (name === "li") parts.push("\n- ");
      else if (name === "td" || name === "th") parts.push(" ");
      else if (name === "img" && alt) parts.push(` [${alt}] `);
      else if (/^h[1-6]$/.test(name)) parts.push(`\n\n${"#".repeat(Number(name[1]))} `);
      else if (BLOCKS.has(name)) parts.push("\n\n");
    },
    onclosetag(name: string) {
      if (SKIPPED.has(name)) {
        skipped = Math.max(0, skipped - 1);
        return;
      }
      if (skipped > 0) return;
      if (name === "pre") preformatted = Math.max(0, preformatted - 1);
      if (BLOCKS.has(name) || /^h[1-6]$/.test(name)) parts.push("\n\n");
    },
    ontext(text: string) {
      if (skipped === 0) parts.push(preformatted > 0 ? text : text.replace(/\s+/g, " "));
    },
  };
  parseMarkup(html, handler, "HTML");
  return parts
    .join("")
    .replace(/[ \t\r]*\n[ \t\r]*/g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .replace(/ {2,}/g, " ")
    .trim();
}

/** Returns the URLs of the feeds that a page links to. */
export function feedsOfPage(html: string, page: URL): string[] {
  const feeds = new Set<string>();
  const handler = {
    onopentag(name: string, { rel, type, href }: Record<string, string>) {
      if (name !== "link" || href === undefined || feeds.size === MAX_FEEDS) return;
      if (!/\balternate\b/i.test(rel ?? "") || !FEED_TYPES.includes((type ?? "").toLowerCase())) return;
      if (URL.canParse(href, page)) feeds.add(new URL(href, page).href);
    },
  };
  parseMarkup(html, handler, "HTML");
  return [...feeds];
}
