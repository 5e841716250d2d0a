// Reads RSS, Atom and JSON Feed into one shape.
import { z } from "kitbag/extend/toolkit";

import { textOfHtml } from "./html";
import { childrenOf, markupOf, parseXml, textIn, textOf, type Element } from "./xml";

/** A feed with its entries, in the order of the feed. */
export interface Feed {
  title: string;
  /** URL of the page that the feed belongs to. */
  home?: string;
  kind: "RSS" | "Atom" | "JSON Feed";
  entries: Entry[];
  /** Whether the end of the feed is there. */
  isComplete: boolean;
}

/** An entry: an article or an episode. */
export interface Entry {
  title: string;
  url?: string;
  author?: string;
  /** Time of its last change, in ISO 8601. */
  date?: string;
  /** Returns its plain text, which takes long for a large one. */
  text: () => string;
  audio?: Audio;
}

/** A recording. */
export interface Audio {
  url: string;
  type?: string;
  bytes?: number;
  seconds?: number;
}

const MAX_ENTRIES = 2000;
const MAX_TITLE_CHARS = 300;
const MAX_AUTHOR_CHARS = 300;
const MAX_URL_CHARS = 2000;
const MAX_TEXT_CHARS = 200_000;
const MAX_HEADLINE_CHARS = 80;

/** Parses a feed that was read from `url`; returns `undefined` if the text is none. */
export function parseFeed(text: string, url: URL): Feed | undefined {
  const feed = /^\s*\{/.test(text) ? jsonFeed(text, url) : xmlFeed(text, url);
  return feed === undefined ? undefined : { ...feed, entries: withDistinctUrls(feed) };
}

function xmlFeed(text: string, url: URL): Feed | undefined {
  const { root, isComplete } = parseXml(text);
  switch (root?.name) {
    case "rss":
    case "rdf:RDF":
      return { ...rss(root, url), isComplete };
    case "feed":
    case "atom:feed":
      return { ...atom(root, url), isComplete };
    default:
      return undefined;
  }
}

function rss(root: Element, url: URL): Omit<Feed, "isComplete"> {
  const [channel = root] = childrenOf(root, "channel");
  // In RSS 1.0 the items are beside the channel.
  const items = [...childrenOf(channel, "item"), ...childrenOf(root, "item")].slice(0, MAX_ENTRIES);
  return {
    kind: "RSS",
    title: titleOf(textIn(channel, "title")) || url.host,
    ...some("home", address(textIn(channel, "link"), url)),
    entries: items.map((item) => {
      const [guid] = childrenOf(item, "guid");
      const permalink = guid === undefined || guid.attributes["isPermaLink"] === "false" ? undefined : textOf(guid).trim();
      const seconds = secondsOf(textIn(item, "itunes:duration"));
      const recordings = [...childrenOf(item, "enclosure"), ...childrenOf(item, "media:content")].map(({ attributes }) => audioOf(attributes["url"], attributes["type"], attributes["length"] ?? attributes["fileSize"], url));
      const audio = recordings.find((it) => it !== undefined);
      return entry({
        title: textIn(item, "title", "itunes:title"),
        url: address(textIn(item, "link"), url) ?? (/^https?:/.test(permalink ?? "") ? address(permalink, url) : undefined),
        author: textIn(item, "dc:creator", "itunes:author", "author"),
        date: dateOf(textIn(item, "pubDate", "dc:date", "atom:updated")),
        text: () => textOfHtml(textIn(item, "content:encoded", "description", "itunes:summary", "media:description") ?? ""),
        audio: audio && { ...some("seconds", seconds), ...audio },
      });
    }),
  };
}

function atom(root: Element, url: URL): Omit<Feed, "isComplete"> {
  // The prefix is the only one that feeds use for elements of Atom.
  const prefix = root.name.startsWith("atom:") ? "atom:" : "";
  const pageOf = (element: Element) => childrenOf(element, `${prefix}link`).find(({ attributes }) => (attributes["rel"] ?? "alternate") === "alternate")?.attributes["href"];
  const authorOf = (element: Element) => childrenOf(element, `${prefix}author`).flatMap((it) => textIn(it, `${prefix}name`) ?? []).join(", ");
  const base = address(root.attributes["xml:base"], url);
  const at = base === undefined ? url : new URL(base);
  return {
    kind: "Atom",
    title: titleOf(textIn(root, `${prefix}title`)) || url.host,
    ...some("home", address(pageOf(root), at)),
    entries: childrenOf(root, `${prefix}entry`)
      .slice(0, MAX_ENTRIES)
      .map((it) => {
        const enclosures = childrenOf(it, `${prefix}link`).filter(({ attributes }) => attributes["rel"] === "enclosure");
        const [media] = childrenOf(it, "media:group");
        const bodies = [...childrenOf(it, `${prefix}content`), ...childrenOf(it, `${prefix}summary`)];
        return entry({
          title: textIn(it, `${prefix}title`),
          url: address(pageOf(it), at),
          author: authorOf(it) || authorOf(root),
          date: dateOf(textIn(it, `${prefix}updated`, `${prefix}published`)),
          text: () => bodies.map(atomText).find((text) => text !== "") ?? textIn(media ?? it, "media:description") ?? "",
          audio: enclosures.map(({ attributes }) => audioOf(attributes["href"], attributes["type"], attributes["length"], at)).find((audio) => audio !== undefined),
        });
      }),
  };
}

/** Returns a text of Atom, which is plain, HTML, or XHTML. */
function atomText(element: Element): string {
  const type = element.attributes["type"] ?? "text";
  if (type === "xhtml") return textOfHtml(markupOf(element));
  if (type === "html" || type === "text/html") return textOfHtml(textOf(element));
  return type === "text" || type.startsWith("text/") ? textOf(element).trim() : "";
}

/** JSON Feed 1.1; values of a wrong type count as absent. */
const text = z.string().optional().catch(undefined);
const JsonAuthors = z.array(z.object({ name: text })).optional().catch(undefined);
const JsonFeed = z.object({
  version: z.string().startsWith("https://jsonfeed.org/version/"),
  title: text,
  home_page_url: text,
  authors: JsonAuthors,
  items: z
    .array(
      z.object({
        url: text,
        external_url: text,
        title: text,
        content_html: text,
        content_text: text,
        summary: text,
        date_published: text,
        date_modified: text,
        authors: JsonAuthors,
        attachments: z.array(z.object({ url: text, mime_type: text, size_in_bytes: z.number().optional().catch(undefined), duration_in_seconds: z.number().optional().catch(undefined) })).optional().catch(undefined),
      }),
    )
    .max(MAX_ENTRIES),
});

function jsonFeed(body: string, url: URL): Feed | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  const { success, data } = JsonFeed.safeParse(value);
  if (!success) return undefined;
  const names = (authors: z.output<typeof JsonAuthors>) => (authors ?? []).flatMap(({ name }) => name ?? []).join(", ");
  return {
    kind: "JSON Feed",
    title: titleOf(data.title) || url.host,
    ...some("home", address(data.home_page_url, url)),
    isComplete: true,
    entries: data.items.map((it) =>
      entry({
        title: it.title,
        url: address(it.url ?? it.external_url, url),
        author: names(it.authors) || names(data.authors),
        date: dateOf(it.date_modified ?? it.date_published),
        text: () => it.content_text ?? textOfHtml(it.content_html ?? it.summary ?? ""),
        audio: (it.attachments ?? [])
          .map((file) => {
            const audio = audioOf(file.url, file.mime_type, file.size_in_bytes, url);
            return audio && { ...audio, ...some("seconds", file.duration_in_seconds) };
          })
          .find((audio) => audio !== undefined),
      }),
    ),
  };
}

type Parts = { [Name in keyof Entry]?: Entry[Name] | undefined };

/** Makes an entry of what was found, within the bounds of a document. */
function entry({ title, url, author, date, text = () => "", audio }: Parts): Entry {
  return {
    title: titleOf(title) || text().split("\n")[0]!.slice(0, MAX_HEADLINE_CHARS).trim() || date?.slice(0, 10) || "Untitled",
    ...some("url", url),
    ...some("author", author === undefined ? undefined : line(author).slice(0, MAX_AUTHOR_CHARS) || undefined),
    ...some("date", date),
    text: () => text().slice(0, MAX_TEXT_CHARS),
    ...some("audio", audio),
  };
}

/** Removes URLs that tell no entries apart: many podcasts give all episodes the URL of the show. */
function withDistinctUrls({ home, entries }: Feed): Entry[] {
  const uses = new Map<string, number>();
  for (const { url } of entries) if (url !== undefined) uses.set(url, (uses.get(url) ?? 0) + 1);
  return entries.map(({ url, ...rest }) => (url === undefined || url === home || uses.get(url) !== 1 ? rest : { url, ...rest }));
}

/** A title is text, but many feeds have markup or escaped entities in it. */
function titleOf(title: string | undefined): string {
  if (title === undefined) return "";
  return line(/[<&]/.test(title) ? textOfHtml(title) : title).slice(0, MAX_TITLE_CHARS);
}

function line(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Returns an address of the Web as an absolute URL. */
function address(href: string | undefined, base: URL): string | undefined {
  const trimmed = href?.trim() ?? "";
  if (trimmed === "" || !URL.canParse(trimmed, base)) return undefined;
  const url = new URL(trimmed, base);
  return /^https?:$/.test(url.protocol) && url.href.length <= MAX_URL_CHARS ? url.href : undefined;
}

function audioOf(href: string | undefined, type: string | undefined, size: string | number | undefined, base: URL): Audio | undefined {
  const url = address(href, base);
  const isAudio = type === undefined ? /\.(mp3|m4a|ogg|opus)(\?|$)/i.test(url ?? "") : /^audio\/[\w.+-]{1,80}$/i.test(type);
  if (url === undefined || !isAudio) return undefined;
  const bytes = Number(size);
  return { url, ...some("type", type?.toLowerCase()), ...(bytes > 0 && { bytes }) };
}

/** Returns the seconds of "3600", "60:00" or "1:00:00". */
function secondsOf(duration: string | undefined): number | undefined {
  if (duration === undefined || !/^\d+(:\d+){0,2}$/.test(duration)) return undefined;
  return duration.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** Offsets of the names of time zones in RFC 822. */
const ZONES: Record<string, string> = { UT: "+0000", Z: "+0000", EST: "-0500", EDT: "-0400", CST: "-0600", CDT: "-0500", MST: "-0700", MDT: "-0600", PST: "-0800", PDT: "-0700" };

/** Returns a time of RSS (RFC 822) or Atom (RFC 3339) in ISO 8601. */
function dateOf(date: string | undefined): string | undefined {
  const time = Date.parse((date ?? "").replace(/ ([A-Z]{1,3})$/, (all, zone: string) => (ZONES[zone] === undefined ? all : ` ${ZONES[zone]}`)));
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** A member of an object, if there is a value. */
function some<Name extends string, Value>(name: Name, value: Value | undefined): { [name in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [name in Name]?: Value };
}
