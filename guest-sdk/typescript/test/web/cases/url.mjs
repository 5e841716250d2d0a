// URL and URLSearchParams.
const parts = (url) => [
  url.href,
  url.origin,
  url.protocol,
  url.username,
  url.password,
  url.host,
  url.hostname,
  url.port,
  url.pathname,
  url.search,
  url.hash,
];

/** URLs that are parsed into their components. */
const INPUTS = [
  "https://example.com",
  "https://EXAMPLE.com:443/a/../b/./c?x=1#y",
  "http://user:pa%20ss@host:8080/p",
  "https://example.com/ü?ü=ß#é",
  "https://münchen.example/straße",
  "https://xn--mnchen-3ya.example/",
  "http://[::1]:80/",
  "http://[2001:db8::0:1]/",
  "http://192.168.0.1.:99/",
  "http://0x7f.1/",
  "http://256/",
  "file:///etc/passwd",
  "file://host/path",
  "mailto:a@b.example",
  "data:text/plain,hello world",
  "javascript:alert(1)",
  "blob:https://a.example/id",
  "about:blank",
  "  https://example.com/ space \t\n",
  "https:example.com",
  "https:///example.com",
  "HTTPS://a.example\\b\\c",
  "https://a.example/%7Ea/%zz",
  "https://a.example/?q=a b+c&d='\"<>`",
  "https://a.example/#a b`",
  "ws://a.example:80/x",
  "wss://a.example:443/x",
  "ftp://a.example:21/x",
  "custom://Host:99/a/../b",
  "custom:opaque/../x",
  "https://a.example:65535/",
  "https://a.example/a//b///c",
  "https://a.example/.%2e/b",
  "https://a.example?",
  "https://a.example#",
  "https://a.example/?#",
];
const INVALID = [
  "",
  "/a",
  "nope",
  "https://",
  "https://a b.example",
  "https://a.example:99999",
  "http://[::1",
  "https://%zz/",
  "http://a<b",
  "//x",
  "https://user@:80/",
  "http://1.2.3.256/",
];
const RELATIVE = [
  "",
  "x",
  "./x",
  "../x",
  "../../../x",
  "/x",
  "//other.example/x",
  "?y",
  "#z",
  "x?y#z",
  "https://abs.example/",
  "https:rel",
  "mailto:x",
  "\\x",
  "x y",
  "a:b",
];

const setters = (start, changes) => () => {
  const url = new URL(start);
  for (const [name, value] of changes) url[name] = value;
  return url.href;
};

const SETTERS = {
  "protocol to another special one": ["https://a.example:8080/", [["protocol", "http"]]],
  "protocol with a colon and more": ["https://a.example/", [["protocol", "http:x"]]],
  "protocol to one that is not special": ["https://a.example/", [["protocol", "custom"]]],
  "protocol drops a default port": ["http://a.example:443/", [["protocol", "https"]]],
  "a bad protocol": ["https://a.example/", [["protocol", "ht tp"]]],
  "username and password": [
    "https://a.example/",
    [
      ["username", "ü:@"],
      ["password", "p/w"],
    ],
  ],
  "no username where there is no host": ["mailto:x", [["username", "u"]]],
  "host with a port": ["https://a.example/", [["host", "b.example:99"]]],
  "host without a port keeps it": ["https://a.example:5/", [["host", "b.example"]]],
  "a bad host": ["https://a.example/", [["host", "b c"]]],
  "an empty host": ["https://a.example/", [["host", ""]]],
  hostname: ["https://a.example:5/", [["hostname", "B.example"]]],
  "a hostname with a port": ["https://a.example:5/", [["hostname", "b.example:9"]]],
  port: ["https://a.example/", [["port", "8080"]]],
  "the default port": ["https://a.example:8080/", [["port", "443"]]],
  "a port with letters after it": ["https://a.example/", [["port", "80x"]]],
  "a port that is too large": ["https://a.example:1/", [["port", "70000"]]],
  "an empty port": ["https://a.example:8080/", [["port", ""]]],
  pathname: ["https://a.example/a?b", [["pathname", "x y/../ü"]]],
  "pathname with ? and #": ["https://a.example/", [["pathname", "/a?b#c"]]],
  "pathname of an opaque path": ["mailto:a", [["pathname", "b"]]],
  search: ["https://a.example/", [["search", "a=b c"]]],
  "search with its mark": ["https://a.example/#h", [["search", "?x#y"]]],
  "an empty search": ["https://a.example/?a", [["search", ""]]],
  "search of only a mark": ["https://a.example/?a", [["search", "?"]]],
  hash: ["https://a.example/", [["hash", "a b"]]],
  "an empty hash": ["https://a.example/#x", [["hash", ""]]],
  href: ["https://a.example/", [["href", "http://b.example/x"]]],
  "numbers and null": [
    "https://a.example/",
    [
      ["port", 81],
      ["hash", null],
      ["search", 5],
    ],
  ],
};

const params = (init) => [...new URLSearchParams(init)];

export default {
  ...Object.fromEntries(INPUTS.map((input) => [`parses ${JSON.stringify(input)}`, () => parts(new URL(input))])),
  ...Object.fromEntries(
    INVALID.map((input) => [`refuses ${JSON.stringify(input)}`, () => [URL.canParse(input), new URL(input).href]]),
  ),
  ...Object.fromEntries(
    RELATIVE.map((input) => [
      `${JSON.stringify(input)} is relative to a base`,
      () => new URL(input, "https://u@a.example/b/c/d?e#f").href,
    ]),
  ),
  ...Object.fromEntries(Object.entries(SETTERS).map(([name, args]) => [`sets ${name}`, setters(...args)])),
  "a base that is no URL": () => new URL("x", "nope"),
  "a base of an opaque path": () => [
    URL.canParse("x", "mailto:a"),
    URL.canParse("#x", "mailto:a"),
    new URL("#x", "mailto:a").href,
  ],
  "a URL may be the base": () => new URL("b", new URL("https://a.example/a")).href,
  "an undefined base is none": () => new URL("https://a.example", undefined).href,
  "the error has a code": () => {
    try {
      new URL("nope");
      return "no error";
    } catch (error) {
      return [error instanceof TypeError, error.code, error.message, error.input];
    }
  },
  "href to what is no URL": () => {
    const url = new URL("https://a.example/");
    try {
      url.href = "nope";
    } catch (error) {
      return [error.name, url.href];
    }
    return "no error";
  },
  "URL wants new": () => URL("https://a.example"),
  "URL wants an argument": () => new URL(),
  "URL.canParse": () => [URL.canParse("https://a.example"), URL.canParse("x"), URL.canParse("x", "https://a.example")],
  "URL.parse": { expected: ["https://a.example/", null], run: () => [URL.parse("https://a.example").href, URL.parse("x")] },
  "text and JSON of a URL": () => [
    String(new URL("https://a.example/x")),
    JSON.stringify({ url: new URL("https://a.example/x") }),
    `${new URL("a:b")}`,
  ],
  "the tag of a URL": () => [
    Object.prototype.toString.call(new URL("a:b")),
    Object.prototype.toString.call(new URLSearchParams()),
    URL.name,
  ],
  "members of a foreign object": () => Object.getOwnPropertyDescriptor(URL.prototype, "href").get.call({}),
  "lone surrogates": () => [
    new URL("https://a.example/\ud800").href,
    new URLSearchParams("a=\udc00").get("a"),
    new URLSearchParams([["\ud800", "x"]]).toString(),
  ],
  "searchParams are always the same": () => {
    const url = new URL("https://a.example/?a=1");
    return url.searchParams === url.searchParams;
  },
  "searchParams change the URL": () => {
    const url = new URL("https://a.example/?a=1#h");
    const results = [];
    url.searchParams.append("b", "x y&z");
    results.push(url.href);
    url.searchParams.set("a", "ü");
    results.push(url.href);
    url.searchParams.delete("a");
    url.searchParams.delete("b");
    results.push(url.href);
    return results;
  },
  "the URL changes searchParams": () => {
    const url = new URL("https://a.example/?a=1");
    const { searchParams } = url;
    url.search = "?b=2";
    const first = searchParams.toString();
    url.href = "https://b.example/?c=3";
    return [first, searchParams.toString(), url.searchParams === searchParams];
  },
  "reading searchParams leaves the query as it is": () => {
    const url = new URL("https://a.example/?a=b%20c&d");
    return [url.searchParams.get("a"), url.href];
  },
  "sorting searchParams changes the URL": () => {
    const url = new URL("https://a.example/?b=1&a=2&b=0");
    url.searchParams.sort();
    return url.href;
  },
  "params of a string": () => [
    params("a=1&b=2"),
    params("?a=1"),
    params("a"),
    params("=x"),
    params("&&a=1&"),
    params("a=b=c"),
    params(""),
    params("%zz=%41+%2B"),
  ],
  "params of a record": () => params({ a: 1, b: "x y", c: null }),
  "params of pairs": () =>
    params([
      ["a", "1"],
      ["a", "2"],
    ]),
  "params of params": () => params(new URLSearchParams("a=1&a=2")),
  "params of a map": () => params(new Map([["a", 1]])),
  "params of a form": () => {
    const form = new FormData();
    form.append("a", "b");
    return params(form);
  },
  "params of a generator": () =>
    params(
      (function* () {
        yield ["a", "b"];
      })(),
    ),
  "params of null and undefined": () => [params(null), params(undefined)],
  "params of pairs that are none": () => new URLSearchParams([["a"]]),
  "params of a list of texts": () => new URLSearchParams(["abc"]),
  "params of texts of two letters": {
    expected: { threw: "TypeError" },
    run: () => {
      try {
        return params(["ab"]);
      } catch (error) {
        return { threw: error.name };
      }
    },
  },
  "params of numbers": () => new URLSearchParams([1, 2]),
  "get, getAll, has": () => {
    const it = new URLSearchParams("a=1&b=2&a=3");
    return [
      it.get("a"),
      it.get("x"),
      it.getAll("a"),
      it.getAll("x"),
      it.has("a"),
      it.has("x"),
      it.has("a", "3"),
      it.has("a", "4"),
      it.size,
    ];
  },
  "append, set, delete": () => {
    const it = new URLSearchParams("a=1&b=2&a=3&c=4&a=5");
    it.set("a", "x");
    const set = it.toString();
    it.append("b", 7);
    it.delete("b", "2");
    const deleted = it.toString();
    it.delete("b");
    it.set("new", true);
    return [set, deleted, it.toString()];
  },
  "params are encoded for forms": () => new URLSearchParams({ "a b": "*-._ü~!'()", "+": "&=" }).toString(),
  "params are sorted by code units, stably": () => {
    const it = new URLSearchParams("z=1&ü=2&😀=3&ﬀ=4&a=5&z=0&a=6");
    it.sort();
    return [...it];
  },
  "iterating params": () => {
    const it = new URLSearchParams("a=1&b=2");
    const seen = [];
    it.forEach((value, name, all) => seen.push([value, name, all === it]));
    return [[...it.keys()], [...it.values()], [...it.entries()], seen, it[Symbol.iterator] === it.entries];
  },
  "params may change while one iterates": () => {
    const it = new URLSearchParams("a=1&b=2&c=3");
    const seen = [];
    for (const [name] of it) {
      seen.push(name);
      if (name === "a") it.delete("a");
    }
    return seen;
  },
  "the iterator of params": () => {
    const iterator = new URLSearchParams("a=1").entries();
    return [Object.prototype.toString.call(iterator), iterator.next(), iterator.next(), typeof iterator[Symbol.iterator]];
  },
  "Object.fromEntries of params": () => Object.fromEntries(new URLSearchParams("a=1&b=2")),
  "a URL is printed by its members": () => Object.keys(URL.prototype).sort(),
};
