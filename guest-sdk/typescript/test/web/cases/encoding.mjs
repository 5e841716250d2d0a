// TextEncoder, TextDecoder, atob and btoa, and text as a stream.
const bytes = (...values) => new Uint8Array(values);
const decoded = (label, values, options) => new TextDecoder(label, options).decode(new Uint8Array(values));
const streamOf = (...pieces) =>
  new ReadableStream({
    start(it) {
      for (const piece of pieces) it.enqueue(piece);
      it.close();
    },
  });
const joined = async (stream) => {
  const all = [];
  for await (const piece of stream) all.push(piece);
  return all;
};

const ENCODINGS = {
  latin1: [0xa0, 0xe9],
  "iso-8859-2": [0xa1, 0xbf],
  "iso-8859-15": [0xa4],
  "koi8-r": [0xd0, 0xd2],
  "windows-1251": [0xcf, 0xf0],
  macintosh: [0x8e, 0xe7],
  "utf-16le": [0x61, 0x00, 0x3d, 0xd8, 0x00, 0xde],
  "utf-16be": [0x00, 0x61, 0xd8, 0x3d, 0xde, 0x00],
  shift_jis: [0x93, 0xfa, 0x96, 0x7b],
  "euc-jp": [0xc6, 0xfc, 0xcb, 0xdc],
  "iso-2022-jp": [0x1b, 0x24, 0x42, 0x46, 0x7c, 0x1b, 0x28, 0x42],
  "euc-kr": [0xc7, 0xd1],
  gbk: [0xd6, 0xd0],
  gb18030: [0xd6, 0xd0, 0x81, 0x30, 0x81, 0x30],
  big5: [0xa4, 0xa4],
};
const LABELS = [
  "utf8",
  "UTF-8",
  " utf-8 ",
  "unicode-1-1-utf-8",
  "ascii",
  "us-ascii",
  "iso-8859-1",
  "l1",
  "utf-16",
  "ucs-2",
  "sjis",
  "x-gbk",
  "cp1252",
  "ISO_8859-2",
];

export default {
  "encodes text": () => [...new TextEncoder().encode("aü€😀\0")],
  "encodes nothing": () => [
    new TextEncoder().encode().length,
    new TextEncoder().encode(undefined).length,
    new TextEncoder().encode("").length,
  ],
  "encodes what is no text": () => [[...new TextEncoder().encode(null)], [...new TextEncoder().encode(12)]],
  "encodes lone surrogates": () => [...new TextEncoder().encode("a\ud800b\udc00\ud83d")],
  "the result is a Uint8Array": () => {
    const made = new TextEncoder().encode("abc");
    return [made instanceof Uint8Array, made.buffer.byteLength >= 3, made.byteOffset];
  },
  encodeInto: () => {
    const target = new Uint8Array(8);
    return [new TextEncoder().encodeInto("aü€", target), [...target]];
  },
  "encodeInto cuts no character": () =>
    ["a€", "€", "aü", "😀x", "aa"].map((text) => {
      const target = new Uint8Array(2);
      return [new TextEncoder().encodeInto(text, target), [...target]];
    }),
  "encodeInto a view": () => {
    const all = new Uint8Array(6);
    const result = new TextEncoder().encodeInto("hello", all.subarray(2, 5));
    return [result, [...all]];
  },
  "encodeInto of a long text": () => {
    const target = new Uint8Array(10);
    return [new TextEncoder().encodeInto("ü".repeat(1000), target), new TextDecoder().decode(target)];
  },
  "encodeInto of lone surrogates": () => {
    const target = new Uint8Array(7);
    return [new TextEncoder().encodeInto("\ud800\ud800x", target), [...target]];
  },
  "encodeInto wants a Uint8Array": () => new TextEncoder().encodeInto("a", new ArrayBuffer(3)),
  "the encoder's members": () => [new TextEncoder().encoding, Object.prototype.toString.call(new TextEncoder())],
  "decodes UTF-8": () => decoded("utf-8", [0x61, 0xc3, 0xbc, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80]),
  "decodes buffers and views": () => {
    const { buffer } = bytes(97, 98, 99, 100);
    const decoder = new TextDecoder();
    return [
      decoder.decode(buffer),
      decoder.decode(new DataView(buffer, 1, 2)),
      decoder.decode(new Uint16Array(buffer)),
      decoder.decode(new Uint8Array(buffer, 2)),
    ];
  },
  "decodes nothing": () => [new TextDecoder().decode(), new TextDecoder().decode(undefined), new TextDecoder().decode(bytes())],
  "decodes what is no buffer": () => new TextDecoder().decode("abc"),
  "decodes a list of numbers": () => new TextDecoder().decode([97]),
  "invalid UTF-8 is replaced": () =>
    [
      [0xff],
      [0xc3],
      [0xe2, 0x82],
      [0xe2, 0x82, 0x61],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xc0, 0x80],
      [0x61, 0x80, 0x62],
      [0xf0, 0x9f, 0x98],
    ].map((it) => decoded("utf-8", it)),
  "invalid UTF-8 is refused": () => decoded("utf-8", [0x61, 0xff], { fatal: true }),
  "UTF-8 that is cut is refused": () => decoded("utf-8", [0xe2, 0x82], { fatal: true }),
  "a fatal decoder goes on after an error": () => {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    try {
      decoder.decode(bytes(0xff));
    } catch {
      return decoder.decode(bytes(97));
    }
    return "no error";
  },
  "the error's code": () => {
    try {
      return decoded("utf-8", [0xff], { fatal: true });
    } catch (error) {
      return [error instanceof TypeError, error.code];
    }
  },
  "the byte order mark is left out": () => [
    decoded("utf-8", [0xef, 0xbb, 0xbf, 0x61]).length,
    decoded("utf-8", [0xef, 0xbb, 0xbf, 0x61], { ignoreBOM: true }).length,
    decoded("utf-16le", [0xff, 0xfe, 0x61, 0]).length,
  ],
  "only the first byte order mark is left out": () => decoded("utf-8", [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf]).length,
  "a UTF-8 mark in UTF-16 is text": () => decoded("utf-16le", [0xef, 0xbb, 0xbf, 0x61]),
  "decodes piece by piece": () => {
    const decoder = new TextDecoder();
    return [
      decoder.decode(bytes(0xe2), { stream: true }),
      decoder.decode(bytes(0x82), { stream: true }),
      decoder.decode(bytes(0xac, 0x61), { stream: true }),
      decoder.decode(bytes(0xc3), { stream: true }),
      decoder.decode(),
    ];
  },
  "a mark in pieces is left out": () => {
    const decoder = new TextDecoder();
    return [
      decoder.decode(bytes(0xef, 0xbb), { stream: true }),
      decoder.decode(bytes(0xbf, 0x61), { stream: true }),
      decoder.decode(),
    ];
  },
  "a decoder begins anew after the end": () => {
    const decoder = new TextDecoder();
    decoder.decode(bytes(0xe2), { stream: true });
    return [decoder.decode(), decoder.decode(bytes(0x61)), decoder.decode(bytes(0xef, 0xbb, 0xbf, 0x62))];
  },
  "fatal piece by piece": () => {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    decoder.decode(bytes(0xe2, 0x82), { stream: true });
    return decoder.decode(bytes(0x61), { stream: true });
  },
  "members of the decoder": () => {
    const it = new TextDecoder("latin1", { fatal: true, ignoreBOM: true });
    return [
      it.encoding,
      it.fatal,
      it.ignoreBOM,
      new TextDecoder().encoding,
      new TextDecoder().fatal,
      Object.prototype.toString.call(it),
    ];
  },
  "an unknown label": () => new TextDecoder("nope"),
  "the label of the replacement": () => new TextDecoder("replacement"),
  "long text": () => {
    const text = "aü€😀".repeat(50_000);
    return new TextDecoder().decode(new TextEncoder().encode(text)) === text;
  },
  ...Object.fromEntries(
    Object.entries(ENCODINGS).map(([label, values]) => [
      `decodes ${label}`,
      () => [decoded(label, values), new TextDecoder(label).encoding],
    ]),
  ),
  ...Object.fromEntries(LABELS.map((label) => [`the label ${JSON.stringify(label)}`, () => new TextDecoder(label).encoding])),
  // Node.js 20 decodes it as ISO-8859-1.
  "decodes windows-1252": {
    expected: ["€Ÿé", "windows-1252"],
    run: () => [decoded("latin1", [0x80, 0x9f, 0xe9]), new TextDecoder("ascii").encoding],
  },
  "Shift_JIS piece by piece": () => {
    const decoder = new TextDecoder("shift_jis");
    return decoder.decode(bytes(0x93), { stream: true }) + decoder.decode(bytes(0xfa));
  },
  "invalid Shift_JIS": () => [decoded("shift_jis", [0x93, 0x20]), decoded("euc-jp", [0xff, 0x61])],
  "invalid Shift_JIS is refused": () => decoded("shift_jis", [0x93], { fatal: true }),
  btoa: () => [btoa(""), btoa("a"), btoa("ab"), btoa("abc"), btoa("\xff\0é"), btoa(12), btoa(null)],
  "btoa of other letters": () => btoa("€"),
  "btoa's error": () => {
    try {
      return btoa("€");
    } catch (error) {
      return [error.name, error.code, error instanceof DOMException];
    }
  },
  atob: () => [
    atob(""),
    atob("YQ=="),
    atob("YWI="),
    atob("YWJj"),
    atob("YQ"),
    atob(" Y W J j \n"),
    atob("/+8=") === "\xff\xef",
    atob(12) === "\xd7",
  ],
  "atob of what is no base64": () =>
    ["a", "YQ=", "YQ===", "Y=Q=", "Y-Q_", "€", "YWJjZ"].map((it) => {
      try {
        return atob(it);
      } catch (error) {
        return [error.name, error.code, error instanceof DOMException];
      }
    }),
  TextDecoderStream: () =>
    joined(streamOf(bytes(0xe2), bytes(0x82), bytes(0xac, 0x61), bytes(0xff)).pipeThrough(new TextDecoderStream())),
  "TextDecoderStream of Latin-1": () => joined(streamOf(bytes(0xe9)).pipeThrough(new TextDecoderStream("latin1"))),
  "TextDecoderStream, fatal": () => joined(streamOf(bytes(0xff)).pipeThrough(new TextDecoderStream("utf-8", { fatal: true }))),
  "TextDecoderStream of a character that is cut": () => joined(streamOf(bytes(0x61, 0xe2)).pipeThrough(new TextDecoderStream())),
  "TextDecoderStream's members": () => {
    const it = new TextDecoderStream("utf-16le", { fatal: true });
    return [it.encoding, it.fatal, it.ignoreBOM, it.readable instanceof ReadableStream, it.writable instanceof WritableStream];
  },
  "TextDecoderStream of an unknown label": () => new TextDecoderStream("nope"),
  TextEncoderStream: async () => (await joined(streamOf("a", "ü", "").pipeThrough(new TextEncoderStream()))).map((it) => [...it]),
  "TextEncoderStream of halves": async () =>
    (await joined(streamOf("\ud83d", "\ude00", "x\ud83d").pipeThrough(new TextEncoderStream()))).flatMap((it) => [...it]),
  "TextEncoderStream of numbers": async () =>
    (await joined(streamOf(1, null).pipeThrough(new TextEncoderStream()))).map((it) => [...it]),
};
