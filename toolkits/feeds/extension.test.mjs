import assert from "node:assert/strict";
import { test } from "node:test";

import { dispatch } from "kitbag/extend/toolkit";

import toolkit from "./extension.ts";
import * as feeds from "./fixtures.mjs";

const XKCD = "https://xkcd.com/rss.xml";

/** A feed as its server sends it. */
const answer = (body, headers = {}, status = 200) => new Response(body, { status, headers });

/** Calls a tool; every request gets the same answer. */
function call(tool, args, body, options = {}) {
  const fetchImpl = () => (body instanceof Response ? body.clone() : answer(body));
  return dispatch(toolkit, { tool, arguments: args, fetchImpl, ...options });
}

async function entriesOf(body, url = XKCD) {
  const { structuredContent, error } = await call("preview", { url, limit: 50 }, body);
  assert.equal(error, undefined);
  return structuredContent.entries;
}

/** A knowledge base that keeps what is ingested, and captures files as the server does. */
function knowledgeBase(files = {}) {
  const documents = new Map();
  const keyOf = ({ feed, url, audioUrl, text }) => `${feed.key} ${url ?? audioUrl ?? text}`;
  return {
    titles: () => [...documents.values()].map(({ title }) => title),
    subscription: (url) => [...documents.values()].find((it) => it.url === url),
    svc: {
      search: async (_, { source, author, limit }) => {
        assert.equal(source, "feeds");
        const found = [...documents].filter(([, it]) => it.author === author).slice(0, limit);
        return found.map(([id, { title, url }]) => ({ document: { id, title, url, author, source }, snippet: "", score: 1 }));
      },
      getDocument: async (id) => {
        const { fileUrl, ...document } = documents.get(id);
        const captured = files[fileUrl];
        return { ...document, id, text: captured === undefined ? document.text : `${document.text}\n\n${captured}` };
      },
      ingest: async (docs) => {
        for (const it of docs) documents.set(keyOf(it), it);
        return { ingested: docs.length };
      },
    },
  };
}

test("RSS has articles with text, author and date", async () => {
  const [first, second, third] = await entriesOf(feeds.rss);

  assert.deepEqual(first, {
    title: "Star City",
    url: "https://xkcd.com/news/2003/star-city",
    author: "Ana Example",
    date: "2003-06-03T09:39:21.000Z",
    summary: "## Culture\n\nLanguage & protocol at Star City.\n\n- one\n- two",
  });
  assert.deepEqual([second.title, second.url, second.date], ["Sky watchers in Europe, Asia, and parts of Alaska will experience a partial ecli", "https://xkcd.com/2003/05/30.html", "2003-05-30T11:06:42.000Z"]);
  assert.deepEqual(third, { title: "Undated", summary: "" });
});

test("RSS 1.0 has its items beside the channel", async () => {
  const result = await call("preview", { url: "https://lwn.net/headlines/rss" }, feeds.rdf);

  assert.equal(result.text, "LWN.net (RSS, 1 entries)\n2024-05-06 Kernel prepatch");
});

test("Atom has relative addresses, and texts of three types", async () => {
  const result = await call("preview", { url: "https://simonwillison.net/atom.xml" }, feeds.atom);
  const { title, home, entries } = result.structuredContent;

  assert.deepEqual([title, home], ["dive into mark", "https://simonwillison.net/"]);
  assert.deepEqual(entries, [
    {
      title: "Atom draft-07 snapshot",
      url: "https://simonwillison.net/2005/04/02/atom",
      author: "Joe, Sam",
      date: "2005-07-31T12:29:29.000Z",
      summary: "[Update: 1 < 2.]\n\nSecond.",
      audio: { url: "https://example.org/audio/ph34r_my_podcast.mp3", type: "audio/mpeg", bytes: 1337 },
    },
    { title: "Plain", url: "https://simonwillison.net/2", author: "Mark Pilgrim", date: "2005-07-30T12:00:00.000Z", summary: "A < B" },
  ]);
});

test("JSON Feed is a feed, and values of a wrong type count as absent", async () => {
  const [second, first] = await entriesOf(feeds.jsonFeed, "https://dev.to/feed.json");

  assert.deepEqual([second.title, second.author, second.audio.seconds], ["This is a second item.", "Brent", 6]);
  assert.deepEqual([first.title, first.summary], ["Hello, world!", "Hello, world!"]);
});

test("episodes have recordings, and the URL of the show is not theirs", async () => {
  const [first, trailer, film] = await entriesOf(feeds.podcast, "https://feeds.megaphone.fm/hiking.xml");

  assert.deepEqual(first, { title: "S01 EP01", date: "2019-01-09T01:15:00.000Z", summary: "", audio: { seconds: 1079, url: "https://example.com/podcasts/ep1.m4a", type: "audio/x-m4a" } });
  assert.deepEqual([trailer.url, trailer.audio.seconds, trailer.audio.bytes], [undefined, 3605, 5650889]);
  assert.equal(film.audio, undefined);
});

test("a preview has pages", async () => {
  const { text, structuredContent } = await call("preview", { url: XKCD, limit: 1, offset: 1 }, feeds.rss);

  assert.equal(structuredContent.nextOffset, 2);
  assert.match(text, /There are more: offset 2\.$/);
});

test("a subscription ingests entries in their feed, and is stored as a document", async () => {
  const base = knowledgeBase();
  const result = await call("subscribe", { url: XKCD, limit: 2 }, answer(feeds.rss, { etag: '"1"' }), { svc: base.svc });

  assert.deepEqual(result.structuredContent, { url: XKCD, title: "Liftoff & News", added: 2, titles: ["Star City", "Sky watchers in Europe, Asia, and parts of Alaska will experience a partial ecli"] });
  const [entry] = result.trace.ingested;
  assert.deepEqual(
    { ...entry },
    {
      title: "Star City",
      text: "Published: 2003-06-03\n\n## Culture\n\nLanguage & protocol at Star City.\n\n- one\n- two",
      url: "https://xkcd.com/news/2003/star-city",
      author: "Ana Example",
      feed: { key: XKCD, name: "Liftoff & News", label: "feed" },
    },
  );
  assert.deepEqual(base.titles().at(-1), "Subscription: Liftoff & News");

  const listed = await call("list_subscriptions", {}, "", { svc: base.svc });
  assert.deepEqual(listed.structuredContent.subscriptions, [{ url: XKCD, title: "Liftoff & News", newest: "2003-06-03T09:39:21.000Z", articles: "feed", recordings: "transcribe" }]);
});

test("episodes are captured as the user wants it, and so are pages", async () => {
  const ingested = async (body, options) => {
    const url = "https://feeds.megaphone.fm/hiking.xml";
    return (await call("subscribe", { url, limit: 1, ...options }, body, { svc: knowledgeBase().svc })).trace.ingested[0];
  };
  const [transcribed, stored, none, page] = await Promise.all([
    ingested(feeds.podcast),
    ingested(feeds.podcast, { recordings: "store" }),
    ingested(feeds.podcast, { recordings: "none" }),
    ingested(feeds.rss, { articles: "page" }),
  ]);

  assert.deepEqual([transcribed.audioUrl, transcribed.mimeType, transcribed.captureOnly], ["https://example.com/podcasts/ep1.m4a", "audio/x-m4a", false]);
  assert.equal(transcribed.feed.label, "podcast");
  assert.equal(stored.captureOnly, true);
  assert.deepEqual([none.audioUrl, none.text], [undefined, "Published: 2019-01-09\n\nS01 EP01"]);
  assert.equal(page.fileUrl, "https://xkcd.com/news/2003/star-city");
});

test("a refresh ingests what is new alone, and asks only for what has changed", async () => {
  const base = knowledgeBase();
  await call("subscribe", { url: XKCD }, answer(feeds.rss, { etag: '"1"', "last-modified": "Tue, 03 Jun 2003 09:39:21 GMT" }), { svc: base.svc });
  const seen = [];
  const fetchImpl = (_, { headers }) => (seen.push([headers["if-none-match"], headers["if-modified-since"]]), new Response(null, { status: 304 }));
  const unchanged = await call("refresh", {}, "", { svc: base.svc, fetchImpl });
  const newer = feeds.rss.replace("<item>", "<item><title>Newer</title><link>https://xkcd.com/4</link><pubDate>Wed, 04 Jun 2003 00:00:00 GMT</pubDate></item><item>");
  const changed = await call("refresh", { url: XKCD }, newer, { svc: base.svc });

  assert.deepEqual(seen, [['"1"', "Tue, 03 Jun 2003 09:39:21 GMT"]]);
  assert.deepEqual(unchanged.structuredContent.feeds, [{ url: XKCD, title: "Liftoff & News", added: 0, titles: [] }]);
  assert.deepEqual(unchanged.trace.progress.map(({ progress }) => progress), [1]);
  // What has no date may be new.
  assert.deepEqual(changed.structuredContent.feeds[0].titles, ["Newer", "Undated"]);
});

test("one feed that fails does not keep the others from being refreshed", async () => {
  const base = knowledgeBase();
  for (const url of [XKCD, "https://lwn.net/headlines/rss"]) await call("subscribe", { url }, url === XKCD ? feeds.rss : feeds.rdf, { svc: base.svc });
  const fetchImpl = (url) => (url === XKCD ? answer("", {}, 404) : answer(feeds.rdf));
  const all = await call("refresh", {}, "", { svc: base.svc, fetchImpl });
  const one = await call("refresh", { url: XKCD }, "", { svc: base.svc, fetchImpl });

  assert.deepEqual(all.structuredContent.feeds.map(({ title, added }) => [title, added]), [["LWN.net", 0], ["Liftoff & News", 0]]);
  assert.match(all.structuredContent.feeds[1].error, /^There is no feed at https:\/\/xkcd\.com\/rss\.xml \(HTTP status 404\)/);
  assert.deepEqual([one.ok, one.retryable], [false, false]);
});

test("a refresh that takes long says what it has left", async (context) => {
  const base = knowledgeBase();
  for (let number = 1; number <= 9; number += 1) await call("subscribe", { url: `https://xkcd.com/${number}` }, feeds.rss.replace("Liftoff", `Feed ${number}`), { svc: base.svc });
  context.mock.timers.enable({ apis: ["Date"] });
  const fetchImpl = () => (context.mock.timers.tick(20_000), new Response(null, { status: 304 }));
  const { text, structuredContent } = await call("refresh", {}, "", { svc: base.svc, fetchImpl });

  assert.deepEqual([structuredContent.feeds.length, structuredContent.left], [8, ["https://xkcd.com/9"]]);
  assert.match(text, /refresh them one by one: https:\/\/xkcd\.com\/9$/);
});

test("a subscription can be ended, and an unknown one is said to be none", async () => {
  const base = knowledgeBase();
  await call("subscribe", { url: XKCD }, feeds.rss, { svc: base.svc });
  await call("unsubscribe", { url: XKCD }, "", { svc: base.svc });
  const again = await call("unsubscribe", { url: XKCD }, "", { svc: base.svc });

  assert.match(again.error, /^The user is not subscribed to https:\/\/xkcd\.com\/rss\.xml\./);
  assert.equal((await call("refresh", {}, "", { svc: base.svc })).text, "There are no subscriptions.");
});

test("a feed of a host that is not listed is captured by the server", async () => {
  const url = "https://blog.example/feed.xml";
  const base = knowledgeBase({ [url]: feeds.atom });
  const subscribed = await call("subscribe", { url }, "", { svc: base.svc });
  const refreshed = await call("refresh", {}, "", { svc: base.svc });

  assert.deepEqual(subscribed.trace.requests, []);
  assert.deepEqual([subscribed.structuredContent.added, refreshed.structuredContent.feeds[0].added], [2, 0]);
  assert.equal(base.subscription(url).fileUrl, undefined, "the captured feed is not kept");
});

test("what was captured and is no feed does not replace the subscription", async () => {
  const url = "https://blog.example/feed.xml";
  const files = { [url]: feeds.atom };
  const base = knowledgeBase(files);
  await call("subscribe", { url }, "", { svc: base.svc });
  files[url] = "Hello";
  const result = await call("refresh", { url }, "", { svc: base.svc });

  assert.match(result.error, /^There is no RSS, Atom or JSON feed at https:\/\/blog\.example\/feed\.xml/);
  assert.equal(base.subscription(url).fileUrl, undefined);
  assert.equal((await call("list_subscriptions", {}, "", { svc: base.svc })).structuredContent.subscriptions[0].title, "dive into mark");
});

test("there is no subscription to a feed that the server cannot fetch, or that is none", async (context) => {
  const base = knowledgeBase({ "https://blog.example/page": "Hello" });
  context.mock.timers.enable({ apis: ["Date"] });
  const getDocument = (id) => (context.mock.timers.tick(5_000), base.svc.getDocument(id));
  for (const url of ["https://blog.example/feed.xml", "https://blog.example/page"]) {
    assert.equal((await call("subscribe", { url }, "", { svc: { ...base.svc, getDocument } })).ok, false);
  }

  assert.equal((await call("list_subscriptions", {}, "", { svc: base.svc })).text, "There are no subscriptions.");
});

test("a feed that the server cannot fetch leaves the subscription as it was", async (context) => {
  const url = "https://blog.example/feed.xml";
  const files = { [url]: feeds.atom };
  const base = knowledgeBase(files);
  await call("subscribe", { url }, "", { svc: base.svc });
  delete files[url];
  context.mock.timers.enable({ apis: ["Date"] });
  const getDocument = (id) => (context.mock.timers.tick(15_000), base.svc.getDocument(id));
  const result = await call("refresh", { url }, "", { svc: { ...base.svc, getDocument } });

  assert.match(result.error, /^The server could not fetch https:\/\/blog\.example\/feed\.xml within 12 seconds/);
  assert.equal(result.retryable, true);
  assert.equal(base.subscription(url).fileUrl, undefined);
  const [subscription] = (await call("list_subscriptions", {}, "", { svc: base.svc })).structuredContent.subscriptions;
  assert.deepEqual([subscription.title, subscription.newest], ["dive into mark", "2005-07-31T12:29:29.000Z"]);
});

test("a preview asks whether a feed has changed, and a large one is downloaded again", async () => {
  const cache = new Map();
  const seen = [];
  const preview = async (url, respond) => {
    const fetchImpl = (_, { headers }) => {
      const { "if-none-match": etag, "if-modified-since": modified } = Object.fromEntries(new Headers(headers));
      seen.push(etag ?? modified);
      return respond(etag);
    };
    const { structuredContent, error } = await call("preview", { url }, "", { cache, fetchImpl });
    assert.equal(error, undefined);
    return structuredContent.entries[0].title;
  };
  const respond = (etag) => (etag === '"1"' ? new Response(null, { status: 304 }) : answer(feeds.rss, { etag: '"1"' }));
  const changed = answer(feeds.rss.replace("Star City", "Moon City"), { "last-modified": "Mon, 02 Jun 2003 00:00:00 GMT" });

  assert.equal(await preview(XKCD, respond), "Star City");
  assert.equal(await preview(XKCD, respond), "Star City");
  assert.equal(await preview(XKCD, () => changed.clone()), "Moon City");
  assert.equal(await preview(XKCD, () => new Response(null, { status: 304 })), "Moon City");
  assert.deepEqual(seen, [undefined, '"1"', '"1"', "Mon, 02 Jun 2003 00:00:00 GMT"]);

  const large = feeds.rss.replace("</channel>", `<!--${"x".repeat(65_536)}--></channel>`);
  await preview(XKCD, () => answer(large, { etag: '"2"' }));
  assert.equal(cache.size, 0);
  await preview(`${XKCD}?${"q".repeat(300)}`, respond);
  await preview(`${XKCD}?plain`, () => answer(feeds.rss));
  assert.equal(cache.size, 0);
});

test("a host that is not listed cannot be previewed, and nothing is sent", async () => {
  const result = await call("preview", { url: "https://blog.example/feed.xml" }, feeds.rss);

  assert.match(result.error, /does not list the host blog\.example.*Subscribe to the feed instead/);
  assert.deepEqual(result.trace.requests, []);
});

test("a page is no feed, but names its feeds", async () => {
  assert.equal((await call("preview", { url: "https://xkcd.com/" }, feeds.page)).error, "https://xkcd.com/ is a page and not a feed. Its feeds are: https://xkcd.com/feed.xml");
});

test("what is no feed is an error", async () => {
  for (const body of ["", "Hello", "{", '{"version": "1"}', "<opml><body/></opml>", "<<<>>>", feeds.page.replace(/<link.*?>/g, "")]) {
    const result = await call("preview", { url: XKCD }, body);

    assert.match(result.error ?? "none", /^There is no RSS, Atom or JSON feed at/, body);
  }
});

test("a feed whose end is missing gives what it has", async () => {
  const { structuredContent } = await call("preview", { url: XKCD }, feeds.rss.slice(0, feeds.rss.indexOf("<item>\n    <title>Undated")));

  assert.deepEqual([structuredContent.total, structuredContent.isComplete], [2, false]);
});

test("no entity of a document is expanded", async () => {
  const [entry] = await entriesOf(feeds.bomb);

  assert.equal(entry.title, "One &file;");
});

test("a huge feed is read to a bound, and a deep or wide one does no harm", async () => {
  const item = `<item><title>x</title><description>${"word ".repeat(2000)}</description></item>`;
  const huge = `<rss><channel><title>Huge</title>${item.repeat(1000)}</channel></rss>`;
  const result = await call("preview", { url: XKCD }, huge);
  assert.equal(result.structuredContent.isComplete, false);
  assert.ok(result.structuredContent.total > 300 && result.structuredContent.total < 500);

  for (const open of ["<a>", "&lt;a&gt;"]) {
    const [deep] = await entriesOf(`<rss><channel><item><title>Deep</title><description>before ${open.repeat(100_000)}</description></item></channel></rss>`);
    assert.deepEqual(deep, { title: "Deep", summary: "before" });
  }
  const wide = await call("preview", { url: XKCD }, `<rss><channel>${"<item/>".repeat(150_000)}</channel></rss>`);
  assert.deepEqual([wide.structuredContent.total, wide.structuredContent.isComplete], [2000, false]);
});

test("of a feed that is far too long, no more is read than is used", async () => {
  let sent = 0;
  const start = new TextEncoder().encode("<rss><channel><item><title>First</title></item>");
  const pull = (stream) => (sent === 50 ? stream.close() : stream.enqueue(sent++ === 0 ? start : new Uint8Array(1 << 20).fill(32)));
  const result = await call("preview", { url: XKCD }, "", { fetchImpl: () => new Response(new ReadableStream({ pull })) });

  assert.equal(result.structuredContent.entries[0].title, "First");
  assert.ok(sent < 10, `${sent} MiB were read`);
});

test("a text in another encoding is decoded, and one of an unknown name is read as UTF-8", async () => {
  const latin = Uint8Array.from('<?xml version="1.0" encoding="ISO-8859-1"?><rss><channel><item><title>Ü</title></item></channel></rss>', (it) => it.charCodeAt(0));
  const unknown = answer("<rss><channel><item><title>Ü</title></item></channel></rss>", { "content-type": "text/xml; charset=nonsense" });

  assert.equal((await entriesOf(answer(latin)))[0].title, "Ü");
  assert.equal((await entriesOf(unknown))[0].title, "Ü");
});

test("errors of the host say what helps, and whether another try does", async () => {
  const refused = async (status, headers) => {
    const { error, retryable } = await call("preview", { url: XKCD }, answer("<html>", headers, status));
    return [error, retryable];
  };

  assert.deepEqual(await refused(401), ["xkcd.com does not give the feed to programs without a sign-in (HTTP status 401).", false]);
  assert.deepEqual(await refused(410), ["There is no feed at https://xkcd.com/rss.xml (HTTP status 410). Look for its current address on the site.", false]);
  assert.deepEqual(await refused(429, { "retry-after": "120" }), ["xkcd.com asks to wait 120 seconds before the next request.", true]);
  assert.match((await refused(503, { "retry-after": new Date(Date.now() + 90_000).toUTCString() }))[0], /asks to wait (89|90) seconds/);
  assert.deepEqual(await refused(429), ["xkcd.com answered with HTTP status 429", true]);
  assert.deepEqual(await refused(500), ["xkcd.com answered with HTTP status 500", true]);
  const broken = await call("preview", { url: XKCD }, "", { fetchImpl: () => Promise.reject(new TypeError("fetch failed")) });
  assert.deepEqual([broken.error, broken.retryable], ["xkcd.com gave no answer: network error: xkcd.com cannot be reached", true]);
});

test("what is no address is refused before anything is sent", async () => {
  for (const url of ["xkcd.com/rss.xml", "ftp://xkcd.com/", "file:///etc/passwd"]) {
    assert.equal((await call("preview", { url }, "")).code, "INVALID_PARAMS", url);
  }
});

test("entries of hostile feeds keep the rules of documents", async () => {
  const item = `<item><title>${"t".repeat(5000)}</title><link>https://xkcd.com/${"u".repeat(5000)}</link><dc:creator>${"a".repeat(5000)}</dc:creator><description>${"d".repeat(300_000)}</description><enclosure url="javascript:alert(1)" type="audio/mpeg"/><media:content url="https://xkcd.com/a.mp3" type="audio/${"x".repeat(500)}"/></item>`;
  const result = await call("subscribe", { url: XKCD }, `<rss><channel><title> </title>${item}<item/></channel></rss>`, { svc: knowledgeBase().svc });

  assert.equal(result.ok, true, result.error);
  assert.deepEqual(result.trace.ingested.map(({ title, url, audioUrl }) => [title.length, url, audioUrl]).slice(0, 2), [[300, undefined, undefined], [8, undefined, undefined]]);
});
