// The user's subscriptions. A toolkit has no storage of its own, so each is a short document in the user's knowledge base,
// which also holds what the next refresh needs.
import { z, ToolError, type SvcClient, type SvcIngestDoc, type ToolContext } from "kitbag/extend/toolkit";

export const articles = z.enum(["feed", "page"]).describe("Text of articles: what the feed has (feed), or the whole page, fetched by the server (page)");
export const recordings = z
  .enum(["transcribe", "store", "none"])
  .describe("Recordings of podcasts: stored and transcribed (transcribe), stored (store), or neither (none)");

/** What a subscription is told and remembers. */
const State = z.object({
  title: z.string(),
  articles,
  recordings,
  /** Time of the newest entry that was ingested. */
  newest: z.string().optional(),
  /** Validators of the last answer (RFC 9110, section 8.8), for a conditional request. */
  etag: z.string().optional(),
  modified: z.string().optional(),
  /** Marks the current capture of the feed. */
  capture: z.string().optional(),
});
export type State = z.output<typeof State>;

export interface Subscription {
  url: string;
  state: State;
}

/** The id of this toolkit, by which its documents are found. */
const SOURCE = "feeds";
/** No entry has this author, so a search for it finds subscriptions alone. */
const AUTHOR = "Feed subscriptions";
const FORMER_AUTHOR = "Former feed subscriptions";
/** A search returns at most this many results. */
export const MAX_SUBSCRIPTIONS = 50;

const POLL_INTERVAL = 300;
/** Times to wait, in milliseconds; a call has 30 seconds by default. */
const INDEXING_TIMEOUT = 8_000;
const CAPTURE_TIMEOUT = 12_000;

export function knowledge(ctx: ToolContext): SvcClient {
  if (ctx.svc === undefined) throw new Error("the toolkit declares its scopes");
  return ctx.svc;
}

/** Returns all subscriptions, by title. */
export async function subscriptions(ctx: ToolContext): Promise<Subscription[]> {
  const svc = knowledge(ctx);
  const found = await svc.search("Subscription", { source: SOURCE, author: AUTHOR, limit: MAX_SUBSCRIPTIONS });
  const documents = await Promise.all(found.map(({ document }) => svc.getDocument(document.id)));
  return documents
    .flatMap(({ url, text }) => {
      const state = stateIn(text);
      return url === undefined || state === undefined ? [] : [{ url, state }];
    })
    .sort((a, b) => (a.state.title < b.state.title ? -1 : 1));
}

export async function save(ctx: ToolContext, subscription: Subscription): Promise<void> {
  await knowledge(ctx).ingest([documentOf(subscription)]);
}

/** Turns a subscription into a document that is none; documents cannot be removed. */
export async function end(ctx: ToolContext, subscription: Subscription): Promise<void> {
  const { title } = subscription.state;
  await knowledge(ctx).ingest([{ ...documentOf(subscription), title: `Former feed: ${title}`, text: `No longer followed: ${title}`, author: FORMER_AUTHOR }]);
}

/**
 * Has the server capture a feed from any public host, and returns its text. The text replaces that of the subscription's
 * document until the subscription is saved again.
 */
export async function capture(ctx: ToolContext, { url, state }: Subscription): Promise<string> {
  const svc = knowledge(ctx);
  await save(ctx, { url, state });
  const id = await poll(INDEXING_TIMEOUT, async () => {
    const found = await svc.search(`Subscription ${state.title}`, { source: SOURCE, author: AUTHOR, limit: MAX_SUBSCRIPTIONS });
    return found.find(({ document }) => document.url === url)?.document.id;
  });
  if (id === undefined) throw new ToolError("The knowledge base is still busy with the new subscription. Call the tool again in a minute.", { retryable: true });

  const marked = documentOf({ url, state: { ...state, capture: crypto.randomUUID() } });
  await svc.ingest([{ ...marked, fileUrl: url }]);
  const text = await poll(CAPTURE_TIMEOUT, async () => {
    const document = await svc.getDocument(id);
    // The text of a file follows the text that the document was given.
    return document.text.startsWith(`${marked.text}\n\n`) ? document.text.slice(marked.text.length + 2) : undefined;
  });
  if (text !== undefined) return text;
  await save(ctx, { url, state });
  throw new ToolError(
    `The server could not fetch ${url} within ${CAPTURE_TIMEOUT / 1000} seconds: check that the address opens in a browser, and try again later.`,
    { retryable: true },
  );
}

function documentOf({ url, state }: Subscription): SvcIngestDoc & { text: string } {
  return {
    title: `Subscription: ${state.title}`,
    text: `Subscription to the feed ${state.title}\nState: ${JSON.stringify(state)}`,
    url,
    author: AUTHOR,
    feed: { key: "subscriptions", name: "Subscriptions", label: "list" },
  };
}

function stateIn(text: string): State | undefined {
  const [, json = ""] = /^State: (\{.*\})$/m.exec(text) ?? [];
  try {
    return State.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

async function poll<T>(timeout: number, attempt: () => Promise<T | undefined>): Promise<T | undefined> {
  const end = Date.now() + timeout;
  for (;;) {
    const found = await attempt();
    if (found !== undefined || Date.now() >= end) return found;
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL));
  }
}
