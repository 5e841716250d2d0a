// Feeds: RSS, Atom, JSON Feed and podcasts. Every entry becomes a document of the user's knowledge base, in the feed that it
// belongs to.
//
// The toolkit can reach only hosts that it lists (hosts.ts), and no list has all hosts of feeds. So it downloads feeds of
// listed hosts by itself, and has the server capture all others, as it captures pages and recordings.
import { defineToolkit, tool, z, ToolError, type SvcIngestDoc, type ToolContext } from "kitbag/extend/toolkit";

import { download, downloadCached, type Download } from "./download";
import { parseFeed, type Entry, type Feed } from "./feed";
import { HOSTS, isListed } from "./hosts";
import { feedsOfPage } from "./html";
import { articles, capture, end, knowledge, MAX_SUBSCRIPTIONS, recordings, save, subscriptions, type State, type Subscription } from "./subscriptions";

/** Entries of one feed that one refresh ingests. */
const MAX_NEW_ENTRIES = 100;
const MAX_LISTED_TITLES = 10;
const MAX_SUMMARY_CHARS = 300;
/** Feeds that are read at the same time. */
const CONCURRENCY = 8;
/** Time after which a refresh begins with no further feeds, in milliseconds; a call has 30 seconds by default. */
const REFRESH_TIME = 10_000;

const address = z
  .url({ protocol: /^https?$/, error: "must be an address with https:// or http://" })
  .max(2000)
  .transform((text) => {
    const url = new URL(text);
    url.hash = "";
    return url;
  })
  .describe("Address of the feed, such as https://xkcd.com/atom.xml");

const Audio = z.object({ url: z.string(), type: z.string().optional(), bytes: z.number().optional(), seconds: z.number().optional() });

const Listed = z.object({
  url: z.string(),
  title: z.string(),
  added: z.number().describe("Entries that were ingested"),
  titles: z.array(z.string()).describe(`Titles of the newest ${MAX_LISTED_TITLES} of them`),
  isCut: z.boolean().optional().describe("The feed is longer than what was read, or its end is missing"),
  error: z.string().optional().describe("Why the feed could not be read"),
});
type Listed = z.output<typeof Listed>;

const preview = tool({
  name: "preview",
  title: "Preview a feed",
  description: "Lists the entries of a feed, newest first, and ingests nothing. Works for well-known hosts; feeds of other hosts can be subscribed to.",
  input: z.object({
    url: address,
    limit: z.number().int().min(1).max(50).default(10),
    offset: z.number().int().min(0).max(2000).default(0).describe("Number of entries to skip"),
  }),
  output: z.object({
    title: z.string(),
    kind: z.enum(["RSS", "Atom", "JSON Feed"]),
    home: z.string().optional(),
    total: z.number().describe("Entries in the feed"),
    isComplete: z.boolean().describe("Whether the end of the feed was read"),
    entries: z.array(
      z.object({
        title: z.string(),
        url: z.string().optional(),
        author: z.string().optional(),
        date: z.string().optional(),
        summary: z.string(),
        audio: Audio.optional(),
      }),
    ),
    nextOffset: z.number().optional().describe("Offset of the next entries; absent after the last one"),
  }),
  annotations: { readOnlyHint: true, openWorldHint: true },
  handler: async ({ url, limit, offset }, ctx) => {
    if (!isListed(url)) {
      throw new ToolError(
        `This toolkit does not list the host ${url.host}, so it cannot preview its feeds. Subscribe to the feed instead: the server then fetches it.`,
      );
    }
    const feed = feedIn(await downloadCached(ctx, url), url);
    const all = newestFirst(feed.entries);
    const entries = all.slice(offset, offset + limit).map(({ text, ...entry }) => ({ ...entry, summary: text().slice(0, MAX_SUMMARY_CHARS) }));
    const next = offset + limit < all.length ? { nextOffset: offset + limit } : {};
    const lines = entries.map((it) => `${it.date?.slice(0, 10) ?? "no date"} ${it.title}${it.audio === undefined ? "" : ` (${sizeOf(it.audio)})`}`);
    const text = [`${feed.title} (${feed.kind}, ${all.length} entries${feed.isComplete ? "" : ", its end is missing"})`, ...lines];
    if (next.nextOffset !== undefined) text.push(`There are more: offset ${next.nextOffset}.`);
    const { title, kind, home, isComplete } = feed;
    return { text: text.join("\n"), structured: { title, kind, ...(home !== undefined && { home }), total: all.length, isComplete, entries, ...next } };
  },
});

const subscribe = tool({
  name: "subscribe",
  title: "Subscribe to a feed",
  description: "Subscribes the user to a feed or podcast and ingests its newest entries. Subscribing again changes the options.",
  input: z.object({
    url: address,
    limit: z.number().int().min(0).max(MAX_NEW_ENTRIES).default(10).describe("Number of entries to ingest now, newest first; each episode of a podcast may take 100 MB of the user's space"),
    articles: articles.default("feed"),
    recordings: recordings.default("transcribe"),
  }),
  output: Listed,
  mutating: true,
  annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: true },
  alwaysOn: true,
  handler: async ({ url, limit, ...options }, ctx) => {
    const known = await subscriptions(ctx);
    const existing = known.find((it) => it.url === url.href);
    if (known.length >= MAX_SUBSCRIPTIONS && existing === undefined) {
      throw new ToolError(`The user has ${known.length} subscriptions, which is the most that can be listed. Unsubscribe from one first.`);
    }
    const state: State = { title: existing?.state.title ?? url.host, ...options };
    const subscription = { url: url.href, state };
    try {
      const listed = await bringIn(ctx, subscription, (entries) => entries.slice(0, limit));
      return { text: `Subscribed to ${describe(listed)}`, structured: listed };
    } catch (error) {
      // A capture begins with the subscription, which is not to stay without a feed.
      if (existing === undefined && !isListed(url)) await end(ctx, subscription);
      throw error;
    }
  },
});

const refresh = tool({
  name: "refresh",
  title: "Fetch new entries",
  description: "Ingests the new entries of all the user's feeds, or of one.",
  input: z.object({ url: address.optional().describe("Address of one feed; by default all") }),
  output: z.object({ feeds: z.array(Listed), left: z.array(z.string()).describe("Addresses of the feeds for which there was no time: refresh them one by one") }),
  mutating: true,
  annotations: { destructiveHint: false, idempotentHint: true, openWorldHint: true },
  handler: async ({ url }, ctx) => {
    const all = await subscriptions(ctx);
    const wanted = url === undefined ? all : [required(all, url)];
    const feeds: Listed[] = [];
    const end = Date.now() + REFRESH_TIME;
    while (feeds.length < wanted.length && Date.now() < end) {
      const some = wanted.slice(feeds.length, feeds.length + CONCURRENCY);
      feeds.push(...(await Promise.all(some.map((it) => refreshed(ctx, it, url !== undefined)))));
      ctx.progress({ progress: feeds.length, total: wanted.length, message: `${feeds.length} of ${wanted.length} feeds` });
    }
    const left = wanted.slice(feeds.length).map((it) => it.url);
    const lines = feeds.map(describe);
    if (left.length > 0) lines.push(`There was no time for these; refresh them one by one: ${left.join(", ")}`);
    return { text: lines.join("\n") || "There are no subscriptions.", structured: { feeds, left } };
  },
});

const list = tool({
  name: "list_subscriptions",
  title: "List subscriptions",
  description: "Lists the feeds that the user is subscribed to.",
  input: z.object({}),
  output: z.object({
    subscriptions: z.array(z.object({ url: z.string(), title: z.string(), newest: z.string().optional(), articles, recordings })),
  }),
  annotations: { readOnlyHint: true },
  handler: async (_, ctx) => {
    const all = (await subscriptions(ctx)).map(({ url, state: { title, newest, articles, recordings } }) => ({ url, title, ...(newest !== undefined && { newest }), articles, recordings }));
    const lines = all.map((it) => `${it.title} (${it.url})${it.newest === undefined ? "" : `, newest entry of ${it.newest.slice(0, 10)}`}`);
    return { text: lines.join("\n") || "There are no subscriptions.", structured: { subscriptions: all } };
  },
});

const unsubscribe = tool({
  name: "unsubscribe",
  title: "Unsubscribe from a feed",
  description: "Ends a subscription. The entries that were ingested stay in the knowledge base.",
  input: z.object({ url: address }),
  output: z.object({ url: z.string(), title: z.string() }),
  mutating: true,
  annotations: { destructiveHint: false, idempotentHint: false, openWorldHint: false },
  handler: async ({ url }, ctx) => {
    const found = required(await subscriptions(ctx), url);
    await end(ctx, found);
    return { text: `Unsubscribed from ${found.state.title}.`, structured: { url: found.url, title: found.state.title } };
  },
});

export default defineToolkit({
  id: "feeds",
  name: "Feeds",
  description: "Brings RSS and Atom feeds and podcasts into your knowledge base, and fetches what is new.",
  icon: "📡",
  version: "1.0.0",
  author: "Kitbag",
  visibility: "shared",
  egress: HOSTS,
  scopes: ["svc:search", "svc:ingest", "svc:cache"],
  tools: [preview, subscribe, refresh, list, unsubscribe],
});

/** Ingests what is new in a feed; with `isOnly`, a failure is that of the call. */
async function refreshed(ctx: ToolContext, subscription: Subscription, isOnly: boolean): Promise<Listed> {
  const { newest = "" } = subscription.state;
  try {
    const isNew = ({ date }: Entry) => date === undefined || date > newest;
    return await bringIn(ctx, subscription, (entries) => entries.filter(isNew).slice(0, MAX_NEW_ENTRIES));
  } catch (error) {
    if (isOnly || !(error instanceof ToolError)) throw error;
    return { url: subscription.url, title: subscription.state.title, added: 0, titles: [], error: error.message };
  }
}

/** Reads a feed, ingests the entries that `choose` returns, and saves the subscription. */
async function bringIn(ctx: ToolContext, subscription: Subscription, choose: (newestFirst: Entry[]) => Entry[]): Promise<Listed> {
  const url = new URL(subscription.url);
  const { state } = subscription;
  const downloaded = isListed(url) ? await download(ctx, url, state) : { text: await capture(ctx, subscription), isCut: false };
  if (downloaded === undefined) return { url: url.href, title: state.title, added: 0, titles: [] };

  let feed: Feed;
  try {
    feed = feedIn(downloaded, url);
  } catch (error) {
    // What the server captured is not to stay in place of the subscription.
    if (!isListed(url)) await save(ctx, subscription);
    throw error;
  }
  const entries = choose(newestFirst(feed.entries));
  if (entries.length > 0) await knowledge(ctx).ingest(entries.map((it) => documentOf(it, feed, url, state)));
  const newest = [state.newest, ...feed.entries.map(({ date }) => date)].reduce((last, date) => ((date ?? "") > (last ?? "") ? date : last));
  const { etag, modified } = downloaded as Download;
  await save(ctx, { url: url.href, state: { ...state, title: feed.title, newest, etag, modified } });

  ctx.log("read a feed", { url: url.href, entries: feed.entries.length, ingested: entries.length });
  const titles = entries.slice(0, MAX_LISTED_TITLES).map(({ title }) => title);
  return { url: url.href, title: feed.title, added: entries.length, titles, ...(!feed.isComplete && { isCut: true }) };
}

function documentOf({ title, url, author, date, text, audio }: Entry, feed: Feed, feedUrl: URL, { articles, recordings }: State): SvcIngestDoc {
  const isPodcast = feed.entries.some(({ audio }) => audio !== undefined);
  const published = date === undefined ? [] : [`Published: ${date.slice(0, 10)}`];
  const isRecorded = audio !== undefined && recordings !== "none";
  return {
    title,
    text: [...published, text() || title].join("\n\n"),
    url,
    author,
    ...(isRecorded && { audioUrl: audio.url, mimeType: audio.type, captureOnly: recordings === "store" }),
    ...(!isRecorded && articles === "page" && url !== undefined && { fileUrl: url }),
    feed: { key: feedUrl.href, name: feed.title, label: isPodcast ? "podcast" : "feed" },
  };
}

/** Parses what was downloaded; throws a `ToolError` if it is no feed. */
function feedIn({ text, isCut }: Download, url: URL): Feed {
  const feed = parseFeed(text, url);
  if (feed !== undefined) return { ...feed, isComplete: feed.isComplete && !isCut };
  const feeds = feedsOfPage(text, url);
  if (feeds.length > 0) throw new ToolError(`${url.href} is a page and not a feed. Its feeds are: ${feeds.join(", ")}`);
  throw new ToolError(`There is no RSS, Atom or JSON feed at ${url.href}. Look for the address of the feed on the site.`);
}

function newestFirst(entries: Entry[]): Entry[] {
  // Entries without a date come last, in the order of the feed.
  return entries.toSorted(({ date: a = "" }, { date: b = "" }) => (a === b ? 0 : a < b ? 1 : -1));
}

function required(all: Subscription[], url: URL): Subscription {
  const found = all.find((it) => it.url === url.href);
  if (found === undefined) throw new ToolError(`The user is not subscribed to ${url.href}. The subscriptions are listed by list_subscriptions.`);
  return found;
}

function describe({ title, added, titles, isCut, error }: Listed): string {
  if (error !== undefined) return `${title}: ${error}`;
  const names = titles.map((it) => `\n- ${it}`).join("");
  const rest = added > titles.length ? `\n- and ${added - titles.length} more` : "";
  return `${title}: ${added} entries ingested${isCut === true ? "; the end of the feed was not read" : ""}${names}${rest}`;
}

function sizeOf({ bytes, seconds }: z.output<typeof Audio>): string {
  const parts = [seconds !== undefined && `${Math.round(seconds / 60)} min`, bytes !== undefined && `${(bytes / 1e6).toFixed(1)} MB`].filter(Boolean);
  return parts.join(", ") || "audio";
}
