// fetch over a simulated network. A case returns true if it passes, else the actual value.
import { aborted, network, requests } from "./network-host.mjs";

const URL_A = "https://a.example/";
const last = () => requests[requests.length - 1];
const header = (name) =>
  last()
    .headers.filter(([other]) => other === name)
    .map(([, value]) => value);
const answer = (it) => {
  network[URL_A] = it;
};
const json = (it) => JSON.stringify(it);
const same = (got, wanted) => json(got) === json(wanted) || got;
const failure = (promise) =>
  promise.then(
    () => "no error",
    (error) => [error?.name ?? error, error?.message],
  );
const zip = async (format, text) =>
  new Response(new Blob([text]).stream().pipeThrough(new CompressionStream(format))).arrayBuffer();
const textOf = (bytes) => new TextDecoder().decode(bytes);
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export default {
  "a request and its answer": async () => {
    answer({
      status: 201,
      headers: [
        ["Content-Type", "text/plain"],
        ["X-A", "1"],
        ["x-a", "2"],
        ["Set-Cookie", "a"],
        ["set-cookie", "b"],
      ],
      pieces: ["he", "llo"],
    });
    const response = await fetch(`${URL_A}#fragment`, { headers: { "X-Own": "é" } });
    const seen = [
      response.status,
      response.ok,
      response.statusText,
      response.url,
      response.type,
      response.redirected,
      response.headers.get("x-a"),
      response.headers.getSetCookie(),
      await response.text(),
      response.bodyUsed,
    ];
    return same(
      [last().method, last().url, last().headers, last().body ?? null, seen],
      [
        "GET",
        URL_A,
        [
          ["x-own", "é"],
          ["kitbag-redirect", "follow"],
          ["accept", "*/*"],
          ["accept-encoding", "gzip, deflate"],
        ],
        null,
        [201, true, "", URL_A, "basic", false, "1, 2", ["a", "b"], "hello", true],
      ],
    );
  },
  "an Accept of the author's stays": async () => {
    answer({});
    await fetch(URL_A, { headers: { Accept: "application/json" } });
    return same(header("accept"), ["application/json"]);
  },
  "headers of the connection are ignored, and the length is that of the body": async () => {
    answer({});
    const headers = { Host: "evil.example", connection: "close", expect: "100-continue", "Content-Length": "7", "x-own": "1" };
    await fetch(URL_A, { method: "PUT", headers, body: "ü" });
    const names = Object.keys(headers).map((name) => header(name.toLowerCase()));
    await fetch(new Request(URL_A, { headers: { te: "trailers" } }));
    return same([names, header("te"), header("content-length")], [[[], [], [], ["2"], ["1"]], [], []]);
  },
  "json, bytes and blobs": async () => {
    answer({ headers: [["content-type", "application/json"]], pieces: ['{"a"', ":1}"] });
    const [a, b, c] = await Promise.all([fetch(URL_A), fetch(URL_A), fetch(URL_A)]);
    return same([await a.json(), (await b.bytes()).length, (await c.blob()).type], [{ a: 1 }, 7, "application/json"]);
  },
  "a body of each kind is sent": async () => {
    answer({});
    const bodies = [];
    const form = new FormData();
    form.append("a", "b");
    for (const body of [
      "ü",
      new Uint8Array([1, 2, 3]).subarray(1),
      new Blob(["x"]),
      new URLSearchParams({ a: "b" }),
      new Response("stream").body,
      "",
    ]) {
      await fetch(URL_A, { method: "post", body });
      bodies.push([last().method, header("content-type")[0] ?? null, last().body && [...last().body].join()]);
    }
    await fetch(URL_A, { method: "POST", body: form });
    return same(
      [bodies, textOf(last().body).includes('name="a"\r\n\r\nb\r\n')],
      [
        [
          ["POST", "text/plain;charset=UTF-8", "195,188"],
          ["POST", null, "2,3"],
          ["POST", null, "120"],
          ["POST", "application/x-www-form-urlencoded;charset=UTF-8", "97,61,98"],
          ["POST", null, "115,116,114,101,97,109"],
          ["POST", "text/plain;charset=UTF-8", ""],
        ],
        true,
      ],
    );
  },
  "a Request is sent, and is used then": async () => {
    answer({});
    const request = new Request(URL_A, { method: "PUT", body: "x" });
    await fetch(request);
    return same([last().method, textOf(last().body), request.bodyUsed], ["PUT", "x", true]);
  },
  "a stream that is too large is not sent": async () => {
    answer({});
    const before = requests.length;
    const body = new ReadableStream({ pull: (it) => it.enqueue(new Uint8Array(8 * 1024 * 1024)) });
    const [name, message] = await failure(fetch(URL_A, { method: "POST", body }));
    return same([name, message.includes("33554432"), requests.length - before], ["TypeError", true, 0]);
  },
  "a stream that fails is not sent": async () =>
    same(
      await failure(
        fetch(URL_A, {
          method: "POST",
          body: new ReadableStream({
            pull() {
              throw new RangeError("x");
            },
          }),
        }),
      ),
      ["RangeError", "x"],
    ),
  "an error of the network": async () => {
    answer({ error: "network error: dns" });
    return same(await failure(fetch(URL_A)), ["TypeError", "network error: dns"]);
  },
  "a body that breaks off": async () => {
    answer({ pieces: ["a"], fails: "network error: broken" });
    return same(await failure((await fetch(URL_A)).text()), ["TypeError", "network error: broken"]);
  },
  "a body that breaks off as a stream": async () => {
    answer({ pieces: ["a"], fails: "network error: broken" });
    const reader = (await fetch(URL_A)).body.getReader();
    const { value } = await reader.read();
    return same([textOf(value), await failure(reader.read())], ["a", ["TypeError", "network error: broken"]]);
  },
  "a body as a stream": async () => {
    answer({ pieces: ["a", "", "b"], later: true });
    const pieces = [];
    for await (const piece of (await fetch(URL_A)).body) pieces.push(textOf(piece));
    return same(pieces, ["a", "b"]);
  },
  "a body by a byte reader": async () => {
    answer({ pieces: ["abc", "d"] });
    const reader = (await fetch(URL_A)).body.getReader({ mode: "byob" });
    const got = [];
    for (;;) {
      const { value, done } = await reader.read(new Uint8Array(2));
      if (done) return same(got, ["ab", "c", "d"]);
      got.push(textOf(value));
    }
  },
  "a body of very many pieces": async () => {
    answer({ pieces: Array(20_000).fill("x") });
    const [text, stream] = [await (await fetch(URL_A)).text(), (await fetch(URL_A)).body];
    let length = 0;
    for await (const piece of stream) length += piece.length;
    return same([text.length, length], [20_000, 20_000]);
  },
  "a stream that is left ends the request": async () => {
    answer({ pieces: ["a", "b"] });
    const before = aborted.length;
    for await (const _ of (await fetch(URL_A)).body) break;
    return same(aborted.length - before, 1);
  },
  clone: async () => {
    answer({ pieces: ["a", "b"] });
    const response = await fetch(URL_A);
    const copy = response.clone();
    return same([await copy.text(), await response.text(), copy.url], ["ab", "ab", URL_A]);
  },
  "statuses without a body": async () => {
    const got = [];
    for (const status of [204, 304]) {
      answer({ status });
      const response = await fetch(URL_A);
      got.push(response.status, response.body, await response.text());
    }
    answer({ pieces: ["x"] });
    got.push((await fetch(URL_A, { method: "HEAD" })).body);
    return same(got, [204, null, "", 304, null, "", null]);
  },
  "any status": async () => {
    answer({ status: 999, pieces: ["x"] });
    const response = (await fetch(URL_A)).clone();
    return same([response.status, response.ok, await response.text()], [999, false, "x"]);
  },
  "headers of an answer cannot be changed": async () => {
    answer({});
    const { headers } = await fetch(URL_A);
    return same(await failure(Promise.resolve().then(() => headers.set("a", "b"))).then(([name]) => name), "TypeError");
  },
  "the host is told what to do with redirects": async () => {
    const sent = [];
    for (const redirect of ["follow", "manual", "error"]) {
      answer({});
      await fetch(URL_A, { redirect, headers: { "Kitbag-Redirect": "mine" } });
      sent.push(header("kitbag-redirect"));
    }
    return same(sent, [["follow"], ["manual"], ["manual"]]);
  },
  "a response says where it comes from": async () => {
    answer({ headers: [["kitbag-url", `${URL_A}x`]] });
    const redirected = await fetch(URL_A);
    answer({ headers: [["kitbag-url", URL_A]] });
    const around = await fetch(URL_A);
    answer({});
    const direct = await fetch(URL_A);
    return same(
      [redirected, redirected.clone(), around, direct].map(({ url, redirected, headers }) => [url, redirected, headers.has("kitbag-url")]),
      [
        [`${URL_A}x`, true, false],
        [`${URL_A}x`, true, false],
        [URL_A, true, false],
        [URL_A, false, false],
      ],
    );
  },
  "redirect: manual": async () => {
    answer({ status: 302, headers: [["location", "/x"]] });
    const response = await fetch(URL_A, { redirect: "manual" });
    return same([response.status, response.headers.get("location")], [302, "/x"]);
  },
  "redirect: error": async () => {
    answer({ status: 302, headers: [["Location", "/x"]] });
    const [name] = await failure(fetch(URL_A, { redirect: "error" }));
    answer({ status: 304 });
    return same([name, (await fetch(URL_A, { redirect: "error" })).status], ["TypeError", 304]);
  },
  "compressed answers": async () => {
    const got = [];
    for (const [encoding, format] of [
      ["gzip", "gzip"],
      ["X-GZip", "gzip"],
      ["deflate", "deflate"],
      ["deflate", "deflate-raw"],
    ]) {
      answer({ headers: [["Content-Encoding", encoding]], pieces: [await zip(format, "hello ".repeat(20_000))] });
      const response = await fetch(URL_A);
      got.push(response.headers.get("content-encoding"), (await response.text()) === "hello ".repeat(20_000));
    }
    return same(got, ["gzip", true, "X-GZip", true, "deflate", true, "deflate", true]);
  },
  "a compressed answer byte by byte": async () => {
    const bytes = new Uint8Array(await zip("gzip", "hello hello"));
    answer({ headers: [["content-encoding", "gzip"]], pieces: [...bytes].map((it) => new Uint8Array([it]).buffer) });
    return same(
      [await (await fetch(URL_A)).text(), await new Response((await fetch(URL_A)).body).text()],
      ["hello hello", "hello hello"],
    );
  },
  "what may be compressed, and how": async () => {
    answer({ pieces: ["a"] });
    await fetch(URL_A, { headers: { "Accept-Encoding": "identity" } });
    const own = header("accept-encoding");
    await fetch(URL_A, { headers: { Range: "bytes=1-" } });
    return same([own, header("accept-encoding")], [["identity"], ["identity"]]);
  },
  "a compression that was not asked for is an error": async () => {
    const got = [];
    for (const encoding of ["br", "zstd", "gzip, gzip"]) {
      answer({ headers: [["content-encoding", encoding]], pieces: ["raw"] });
      const response = await fetch(URL_A);
      const [name, message] = await failure(response.text());
      got.push(response.status, name, message.includes("was not asked for"));
    }
    answer({ headers: [["content-encoding", "identity"]], pieces: ["raw"] });
    return same([got, await (await fetch(URL_A)).text()], [Array(3).fill([200, "TypeError", true]).flat(), "raw"]);
  },
  "a compressed answer of nothing": async () => {
    answer({ headers: [["content-encoding", "gzip"]] });
    return same(await (await fetch(URL_A)).text(), "");
  },
  "a compressed answer that is none": async () => {
    answer({ headers: [["content-encoding", "gzip"]], pieces: ["this is no gzip"] });
    const [name, message] = await failure((await fetch(URL_A)).text());
    return same([name, message.startsWith("network error: ")], ["TypeError", true]);
  },
  "half of a compressed answer": async () => {
    const whole = await zip("gzip", "hello ".repeat(100));
    answer({ headers: [["content-encoding", "gzip"]], pieces: [whole.slice(0, whole.byteLength - 4)] });
    const [name] = await failure((await fetch(URL_A)).text());
    return same(name, "TypeError");
  },
  "a bomb ends in an error": async () => {
    let layer = new Uint8Array(await zip("gzip", new Uint8Array(270 * 1024 * 1024)));
    answer({ headers: [["content-encoding", "gzip"]], pieces: [layer.buffer] });
    const before = aborted.length;
    const [name, message] = await failure((await fetch(URL_A)).arrayBuffer());
    return same([name, message.includes("read it as a stream"), aborted.length - before], ["RangeError", true, 1]);
  },
  "a bomb may be read in pieces": async () => {
    answer({ headers: [["content-encoding", "gzip"]], pieces: [await zip("gzip", new Uint8Array(30 * 1024 * 1024))] });
    let [total, largest] = [0, 0];
    for await (const piece of (await fetch(URL_A)).body) {
      total += piece.length;
      largest = Math.max(largest, piece.length);
    }
    return same([total, largest <= 65_536], [30 * 1024 * 1024, true]);
  },
  "abort before the answer": async () => {
    answer("hang");
    const control = new AbortController();
    const before = aborted.length;
    const promise = failure(fetch(URL_A, { signal: control.signal }));
    await wait(2);
    control.abort();
    return same([(await promise)[0], aborted.length - before], ["AbortError", 1]);
  },
  "abort while the body is read": async () => {
    answer({ pieces: ["a"], hangs: true });
    const control = new AbortController();
    const promise = failure((await fetch(URL_A, { signal: control.signal })).text());
    await wait(2);
    control.abort(new RangeError("own"));
    return same(await promise, ["RangeError", "own"]);
  },
  "abort while a stream is read": async () => {
    answer({ pieces: ["a"], hangs: true });
    const control = new AbortController();
    const reader = (await fetch(URL_A, { signal: control.signal })).body.getReader();
    await reader.read();
    const promise = failure(reader.read());
    await wait(2);
    control.abort();
    return same((await promise)[0], "AbortError");
  },
  "abort after the answer": async () => {
    answer({ pieces: ["a"] });
    const control = new AbortController();
    const response = await fetch(URL_A, { signal: control.signal });
    control.abort();
    return same((await failure(response.text()))[0], "AbortError");
  },
  "abort after all": async () => {
    answer({ pieces: ["a"] });
    const control = new AbortController();
    const response = await fetch(URL_A, { signal: control.signal });
    const text = await response.text();
    const before = aborted.length;
    control.abort();
    return same([text, aborted.length - before], ["a", 0]);
  },
  "a timeout": async () => {
    answer("hang");
    return same((await failure(fetch(URL_A, { signal: AbortSignal.timeout(3) })))[0], "TimeoutError");
  },
  "requests side by side": async () => {
    answer({ pieces: ["x"], later: true });
    const texts = await Promise.all(Array.from({ length: 50 }, async () => (await fetch(URL_A)).text()));
    return same(texts.join(""), "x".repeat(50));
  },
};
