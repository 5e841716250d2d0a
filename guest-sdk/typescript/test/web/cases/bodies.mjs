// Headers, Blob, File, Request, Response, and requests that fetch rejects before it sends anything.
const bytes = (...values) => new Uint8Array(values);
const list = (headers) => [...headers];
const streamOf = (...pieces) =>
  new ReadableStream({
    start(it) {
      for (const piece of pieces) it.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
      it.close();
    },
  });
const POST = { method: "POST" };
const request = (init, url = "https://a.example/") => new Request(url, init);
const type = (body) => new Response(body).headers.get("content-type");

const BAD_NAMES = ["", "a b", "ü", "a:", "a\n", "(x)"];
const BAD_VALUES = ["a\nb", "a\rb", "a\0b", "€"];

export default {
  // Headers.
  "headers of a record": () => list(new Headers({ "X-B": "1", a: 2, "Content-Type": " text/plain\t" })),
  "headers of pairs": () =>
    list(
      new Headers([
        ["a", "1"],
        ["A", "2"],
        ["b", "3"],
      ]),
    ),
  "headers of headers": () => list(new Headers(new Headers({ a: "1" }))),
  "headers of a map": () => list(new Headers(new Map([["a", "1"]]))),
  "headers of nothing": () => [list(new Headers()), list(new Headers(undefined)), list(new Headers({})), list(new Headers([]))],
  "headers of null": () => new Headers(null),
  "headers of a text": () => new Headers("a: b"),
  "headers of a number": () => new Headers(5),
  "headers of pairs that are none": () => new Headers([["a"]]),
  "headers of three": () => new Headers([["a", "b", "c"]]),
  "a record with undefined": () => list(new Headers({ a: undefined })),
  "a record's symbols are ignored or refused": () => new Headers({ [Symbol("x")]: "a" }),
  ...Object.fromEntries(BAD_NAMES.map((name) => [`the header name ${JSON.stringify(name)}`, () => new Headers([[name, "x"]])])),
  ...Object.fromEntries(
    BAD_VALUES.map((value) => [`the header value ${JSON.stringify(value)}`, () => new Headers([["a", value]])]),
  ),
  "bad names in methods": () =>
    ["get", "has", "delete"].map((method) => {
      try {
        return new Headers()[method]("a b");
      } catch (error) {
        return error.name;
      }
    }),
  "header values are trimmed": () => new Headers({ a: " \t x y \r\n" }).get("a"),
  "header values of Latin-1": () => new Headers({ a: "é" }).get("a"),
  "append, set, get, has, delete": () => {
    const headers = new Headers();
    headers.append("Accept", "a");
    headers.append("accept", "b");
    const joined = headers.get("ACCEPT");
    headers.set("aCCept", "c");
    const set = headers.get("accept");
    headers.append("x", "1");
    headers.delete("ACCEPT");
    return [joined, set, headers.has("accept"), headers.has("X"), headers.get("accept"), list(headers)];
  },
  "set replaces all": () => {
    const headers = new Headers([
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
    ]);
    headers.set("a", "4");
    return list(headers);
  },
  "append wants two arguments": () => new Headers().append("a"),
  "cookies stay apart": () => {
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["x", "1"],
      ["Set-Cookie", "b=2"],
    ]);
    return [headers.getSetCookie(), headers.get("set-cookie"), list(headers)];
  },
  "headers are sorted": () => [
    ...new Headers([
      ["z", "1"],
      ["a", "2"],
      ["m", "3"],
    ]).keys(),
  ],
  "iterating headers": () => {
    const headers = new Headers({ b: "1", a: "2" });
    const seen = [];
    headers.forEach((value, name, all) => seen.push([name, value, all === headers]));
    return [
      [...headers.keys()],
      [...headers.values()],
      [...headers.entries()],
      seen,
      headers[Symbol.iterator] === headers.entries,
      Object.prototype.toString.call(headers),
      Object.prototype.toString.call(headers.keys()),
    ];
  },
  "Object.fromEntries of headers": () => Object.fromEntries(new Headers({ A: "1" })),
  "Object.entries of headers has nothing": () => Object.entries(new Headers({ a: "1" })),

  // Blob and File.
  "a blob of parts": async () => {
    const blob = new Blob(
      ["aü", bytes(98), bytes(99, 100).buffer, new DataView(bytes(101, 102).buffer, 1), new Blob(["g"]), 7, null],
      { type: "Text/Plain" },
    );
    return [await blob.text(), blob.size, blob.type];
  },
  "a blob of nothing": () => [new Blob().size, new Blob([]).size, new Blob().type],
  "a blob of a text": () => new Blob("abc"),
  "a blob of an object": () => new Blob({}),
  "a blob of an iterable": async () => new Blob(new Set(["a", "b"])).text(),
  "a blob of a typed array is of its items": async () => new Blob(bytes(1, 23)).text(),
  "a blob's type of other letters": () => new Blob([], { type: "té" }).type,
  "a blob is a copy": async () => {
    const part = bytes(97);
    const blob = new Blob([part]);
    part[0] = 98;
    return blob.text();
  },
  "slices of a blob": async () => {
    const blob = new Blob(["abcdef"], { type: "a/b" });
    return Promise.all(
      [blob.slice(1, 3), blob.slice(-2), blob.slice(2), blob.slice(0, -1, "X/Y"), blob.slice(4, 2), blob.slice(0, 99)].map(
        async (it) => [await it.text(), it.type, it.size],
      ),
    );
  },
  "a blob's buffer is a copy": async () => {
    const blob = new Blob(["abc"]);
    const first = await blob.arrayBuffer();
    new Uint8Array(first)[0] = 0;
    return [await blob.text(), first.byteLength];
  },
  "a blob's stream": async () => {
    let all = "";
    for await (const piece of new Blob(["abc"]).stream()) all += new TextDecoder().decode(piece);
    return all;
  },
  "a large blob's stream": async () => {
    const blob = new Blob(["x".repeat(200_000)]);
    let length = 0;
    for await (const piece of blob.stream()) length += piece.length;
    return length;
  },
  "a blob's invalid text": () => new Blob([bytes(0xff, 0x61)]).text(),
  "a blob's byte order mark": async () => (await new Blob([bytes(0xef, 0xbb, 0xbf, 0x61)]).text()).length,
  "tags of blobs": () => [Object.prototype.toString.call(new Blob()), Object.prototype.toString.call(new File([], "x"))],
  "a file": async () => {
    const file = new File(["abc"], "a/b.txt", { type: "text/plain", lastModified: 5 });
    return [
      file.name,
      file.type,
      file.size,
      file.lastModified,
      await file.text(),
      file instanceof Blob,
      file.slice(1) instanceof File,
    ];
  },
  "a file is modified now": () => Math.abs(new File([], "x").lastModified - Date.now()) < 5000,
  "a file wants a name": () => new File([]),

  // Response.
  "a response": () => {
    const it = new Response("x");
    return [
      it.status,
      it.ok,
      it.statusText,
      it.type,
      it.url,
      it.redirected,
      it.bodyUsed,
      list(it.headers),
      Object.prototype.toString.call(it),
    ];
  },
  "a response's options": () => {
    const it = new Response("x", { status: 404, statusText: "No", headers: { A: "b" } });
    return [it.status, it.ok, it.statusText, list(it.headers)];
  },
  "statuses that are none": () =>
    [0, 99, 199, 600, 1000, "x", -1].map((status) => {
      try {
        return new Response(null, { status }).status;
      } catch (error) {
        return error.name;
      }
    }),
  "statuses without a body": () =>
    [204, 205, 304].map((status) => {
      try {
        return new Response("", { status }).status;
      } catch (error) {
        return [error.name, new Response(null, { status }).status];
      }
    }),
  "a bad status text": () => new Response(null, { statusText: "a\nb" }),
  "types of bodies": () => [
    type("x"),
    type(bytes(1)),
    type(new Blob(["x"])),
    type(new Blob(["x"], { type: "a/b" })),
    type(new URLSearchParams("a=b")),
    type(null),
    type(undefined),
    type(streamOf("x")),
    type(5),
    type({}),
    type(new FormData()).replace(/=.*/, ""),
  ],
  "an own type wins": () => new Response("x", { headers: { "content-type": "a/b" } }).headers.get("content-type"),
  "text of bodies": () =>
    Promise.all(
      [
        "aü",
        bytes(0x61, 0xff),
        bytes(98).buffer,
        new DataView(bytes(97, 98, 99).buffer, 1, 1),
        new Blob(["c"]),
        new URLSearchParams({ a: "b c" }),
        null,
        undefined,
        5,
        streamOf("d", "e"),
        "",
        "\ud800x",
      ].map((it) => new Response(it).text()),
    ),
  "the byte order mark of text": async () => [
    (await new Response("\ufeffa").text()).length,
    (await new Response(bytes(0xef, 0xbb, 0xbf, 0x61)).text()).length,
    await new Response('\ufeff{"a":1}').json(),
  ],
  json: () => new Response('{"a":[1,"ü"]}').json(),
  "json that is none": () => new Response("{").json(),
  "json of nothing": () => new Response(null).json(),
  arrayBuffer: async () => {
    const buffer = await new Response("aü").arrayBuffer();
    return [buffer instanceof ArrayBuffer, [...new Uint8Array(buffer)]];
  },
  "arrayBuffer of a view is exact": async () =>
    (await new Response(new Uint8Array(100).subarray(10, 13)).arrayBuffer()).byteLength,
  "arrayBuffer of nothing": async () => (await new Response().arrayBuffer()).byteLength,
  bytes: {
    expected: [true, [97]],
    run: async () => {
      const made = await new Response("a").bytes();
      return [made instanceof Uint8Array, [...made]];
    },
  },
  blob: async () => {
    const blob = await new Response("a", { headers: { "content-type": "a/B; c=d" } }).blob();
    return [await blob.text(), blob.type, (await new Response(bytes(1)).blob()).type];
  },
  "a body is a copy": async () => {
    const given = bytes(97);
    const response = new Response(given);
    given[0] = 98;
    return response.text();
  },
  "a body is read once": async () => {
    const response = new Response("x");
    const first = await response.text();
    return [
      first,
      response.bodyUsed,
      await response.text().catch((error) => error.name),
      await response.json().catch((error) => error.name),
    ];
  },
  "bodyUsed is set at once": () => {
    const response = new Response("x");
    const before = response.bodyUsed;
    response.text();
    return [before, response.bodyUsed];
  },
  "no body can be read again": async () => {
    const response = new Response(null);
    return [await response.text(), response.bodyUsed, await response.text(), response.body];
  },
  "a body as a stream": async () => {
    const response = new Response("abc");
    const { body } = response;
    const same = response.body === body;
    const reader = body.getReader();
    const { value } = await reader.read();
    return [same, new TextDecoder().decode(value), (await reader.read()).done, response.bodyUsed, body.locked];
  },
  "asking for the stream uses nothing": async () => {
    const response = new Response("abc");
    void response.body;
    return [response.bodyUsed, response.body.locked, await response.text()];
  },
  "a body that is locked": () => {
    const response = new Response("abc");
    response.body.getReader();
    return response.text();
  },
  "a body that was read from": async () => {
    const response = new Response(streamOf("a", "b"));
    const reader = response.body.getReader();
    await reader.read();
    reader.releaseLock();
    return response.text();
  },
  "a body of a locked stream": () => {
    const stream = streamOf("a");
    stream.getReader();
    return new Response(stream);
  },
  "a stream of texts is no body": () => new Response(new ReadableStream({ start: (it) => (it.enqueue("x"), it.close()) })).text(),
  "a stream that fails": () =>
    new Response(
      new ReadableStream({
        pull: () => {
          throw new RangeError("x");
        },
      }),
    ).text(),
  "a body of the stream that was given": () => {
    const stream = streamOf("a");
    return new Response(stream).body === stream;
  },
  "iterating a body": async () => {
    let all = "";
    for await (const piece of new Response("abc").body) all += new TextDecoder().decode(piece);
    return all;
  },
  "cancelling a body": async () => {
    const response = new Response("abc");
    await response.body.cancel();
    return [response.bodyUsed, await response.text().catch((error) => error.name)];
  },
  "a body's byte reader": async () => {
    const reader = new Response("abcdef").body.getReader({ mode: "byob" });
    const { value } = await reader.read(new Uint8Array(4));
    return new TextDecoder().decode(value);
  },
  clone: async () => {
    const response = new Response("abc", { status: 201, statusText: "S", headers: { a: "b" } });
    const copy = response.clone();
    copy.headers.set("a", "c");
    return [
      await response.text(),
      await copy.text(),
      copy.status,
      copy.statusText,
      response.headers.get("a"),
      copy.headers.get("a"),
    ];
  },
  "clone of a stream": async () => {
    const response = new Response(streamOf("a", "b"));
    const copy = response.clone();
    return [await copy.text(), await response.text()];
  },
  "clone of bytes": async () => {
    const response = new Response(bytes(97, 98));
    const copy = response.clone();
    new Uint8Array(await response.arrayBuffer())[0] = 0;
    return copy.text();
  },
  "clone of what was read": async () => {
    const response = new Response("x");
    await response.text();
    return response.clone();
  },
  "clone of a clone": async () => {
    const copy = new Response(streamOf("a")).clone().clone();
    return copy.text();
  },
  "clone of no body": async () => [new Response(null).clone().body, await new Response(null).clone().text()],
  "Response.json": async () => {
    const it = Response.json({ a: [1] }, { status: 201, headers: { x: "y" } });
    return [
      it.status,
      list(it.headers),
      await it.json(),
      Response.json(1, { headers: { "content-type": "a/b" } }).headers.get("content-type"),
    ];
  },
  "Response.json of undefined": () => Response.json(undefined),
  "Response.json of a circle": () => {
    const circle = {};
    circle.circle = circle;
    return Response.json(circle);
  },
  "Response.json without a body": () => Response.json({}, { status: 204 }),
  "Response.error": () => {
    const it = Response.error();
    return [it.type, it.status, it.ok, it.body, list(it.headers)];
  },
  "headers of Response.error are fixed": () => Response.error().headers.set("a", "b"),
  "Response.redirect": () => {
    const it = Response.redirect("https://a.example/ü", 301);
    return [it.status, it.headers.get("location"), it.body, Response.redirect("https://a.example").status];
  },
  "Response.redirect with another status": () => Response.redirect("https://a.example", 200),
  "Response.redirect to no URL": () => Response.redirect("nope"),
  "a response's foreign member": () => Response.prototype.text.call({}),
  "readers reject, and do not throw": () => {
    const response = new Response("x");
    response.text();
    const promise = response.text();
    promise.catch(() => {});
    return promise instanceof Promise;
  },

  // Request.
  "a request": () => {
    const it = request();
    return [
      it.method,
      it.url,
      it.redirect,
      it.mode,
      it.credentials,
      it.cache,
      it.referrer,
      it.integrity,
      it.keepalive,
      it.body,
      it.bodyUsed,
      it.destination,
      list(it.headers),
      it.signal.aborted,
      Object.prototype.toString.call(it),
    ];
  },
  "methods are upper case": () =>
    ["get", "post", "Put", "delete", "patch", "options", "head", "custom"].map((method) => request({ method }).method),
  "methods that are none": () =>
    ["", "a b", "CONNECT", "trace", "Track", "ü"].map((method) => {
      try {
        return request({ method }).method;
      } catch (error) {
        return error.name;
      }
    }),
  "a request's URL": () => [request({}, "https://A.example/x?y#z").url, request({}, new URL("https://a.example/b")).url],
  "a relative URL": () => request({}, "/x"),
  "a URL with a password": () => request({}, "https://u:p@a.example/"),
  "a body of GET": () => request({ body: "x" }),
  "a body of HEAD": () => request({ method: "HEAD", body: "x" }),
  "a body of null is none": () => request({ body: null }).body,
  "a body of POST": async () => {
    const it = request({ ...POST, body: "aü" });
    return [it.headers.get("content-type"), await it.text(), it.bodyUsed];
  },
  "a request's form": async () => {
    const it = request({ ...POST, body: new URLSearchParams("a=1&b=ü") });
    return [it.headers.get("content-type"), [...(await it.formData())]];
  },
  "a request's json": () => request({ ...POST, body: '{"a":1}' }).json(),
  "options of a request": () => {
    const it = request({
      redirect: "manual",
      cache: "no-store",
      credentials: "omit",
      mode: "same-origin",
      integrity: "x",
      keepalive: true,
      referrerPolicy: "origin",
    });
    return [it.redirect, it.cache, it.credentials, it.mode, it.integrity, it.keepalive, it.referrerPolicy];
  },
  "options that are none": () =>
    [
      ["redirect", "x"],
      ["cache", "x"],
      ["credentials", "x"],
      ["mode", "navigate"],
      ["mode", "x"],
    ].map(([name, value]) => {
      try {
        return request({ [name]: value })[name];
      } catch (error) {
        return error.name;
      }
    }),
  "a request of a request": async () => {
    const first = request({ ...POST, headers: { a: "b" }, body: "x", redirect: "error" });
    const second = new Request(first, { headers: { c: "d" } });
    return [second.method, list(second.headers), second.redirect, await second.text(), first.bodyUsed];
  },
  "a request of a request keeps its headers": () => list(new Request(request({ headers: { a: "b" } })).headers),
  "a request of a request with another method": () => new Request(request({ ...POST, body: "x" }), { method: "GET" }),
  "a request of one that was read": async () => {
    const first = request({ ...POST, body: "x" });
    await first.text();
    return new Request(first);
  },
  "a request of one that was read, with a body": async () => {
    const first = request({ ...POST, body: "x" });
    await first.text();
    return new Request(first, { body: "y" }).text();
  },
  "a request's signal": () => {
    const control = new AbortController();
    const it = request({ signal: control.signal });
    const before = it.signal.aborted;
    control.abort("why");
    return [before, it.signal.aborted, it.signal.reason];
  },
  "a request's signal goes on": () => {
    const control = new AbortController();
    const it = new Request(request({ signal: control.signal }));
    control.abort();
    return it.signal.aborted;
  },
  "a signal of null": () => new Request(request({ signal: AbortSignal.abort() }), { signal: null }).signal.aborted,
  "a signal that is none": () => request({ signal: {} }),
  "clone of a request": async () => {
    const it = request({ ...POST, body: "x", headers: { a: "b" } });
    const copy = it.clone();
    copy.headers.set("a", "c");
    return [await it.text(), await copy.text(), copy.method, copy.url, it.headers.get("a"), copy.headers.get("a")];
  },
  "clone of a request that was read": async () => {
    const it = request({ ...POST, body: "x" });
    await it.text();
    return it.clone();
  },
  "a Request wants a URL": () => new Request(),

  // fetch.
  "fetch of no URL": () => fetch("nope"),
  "fetch of another scheme": () => fetch("custom://a.example/"),
  "fetch of a bad header": () => fetch("https://a.example", { headers: { "a b": "c" } }),
  "fetch of a body of GET": () => fetch("https://a.example", { body: "x" }),
  "fetch rejects, and does not throw": async () => {
    const promise = fetch("nope");
    return [promise instanceof Promise, await promise.catch((error) => error instanceof TypeError)];
  },
  "fetch with an aborted signal": () => fetch("https://a.example", { signal: AbortSignal.abort() }),
  "fetch with a signal aborted for a reason": () =>
    fetch("https://a.example", { signal: AbortSignal.abort(7) }).catch((error) => error),
  "fetch of a closed port": () => fetch("http://127.0.0.1:9/"),
  "fetch of a request that was read": async () => {
    const it = request({ ...POST, body: "x" });
    await it.text();
    return fetch(it);
  },
};
