// CompressionStream and DecompressionStream.
const FORMATS = ["gzip", "deflate", "deflate-raw"];
const streamOf = (...pieces) =>
  new ReadableStream({
    start(it) {
      for (const piece of pieces) it.enqueue(piece);
      it.close();
    },
  });
const bytesOf = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());
const compressed = (format, ...pieces) =>
  bytesOf(
    streamOf(...pieces.map((it) => (typeof it === "string" ? new TextEncoder().encode(it) : it))).pipeThrough(
      new CompressionStream(format),
    ),
  );
const decompressed = async (format, ...pieces) =>
  new TextDecoder().decode(await bytesOf(streamOf(...pieces).pipeThrough(new DecompressionStream(format))));
const fromHex = (hex) => new Uint8Array(hex.match(/../g).map((it) => parseInt(it, 16)));
// Node.js 20 throws errors of zlib where the standard requires a TypeError.
const failed = () => "failed";

const perFormat = (title, run) => Object.fromEntries(FORMATS.map((format) => [`${format}: ${title}`, () => run(format)]));

export default {
  ...perFormat("there and back", async (format) => decompressed(format, await compressed(format, "aü€😀".repeat(1000)))),
  ...perFormat("nothing", async (format) => [
    await decompressed(format, await compressed(format)),
    (await compressed(format)).length > 0,
  ]),
  ...perFormat("several pieces", async (format) =>
    decompressed(format, await compressed(format, "a", "", "b".repeat(100_000), "c")),
  ),
  ...perFormat("byte by byte", async (format) =>
    decompressed(format, ...[...(await compressed(format, "hello hello"))].map((it) => new Uint8Array([it]))),
  ),
  ...perFormat("half is an error", async (format) => {
    const all = await compressed(format, "hello ".repeat(100));
    return decompressed(format, all.subarray(0, all.length - 3)).catch(failed);
  }),
  ...perFormat("no input is an error", (format) => decompressed(format).catch(failed)),
  ...perFormat("something else is an error", (format) =>
    decompressed(format, new TextEncoder().encode("this is not compressed at all")).catch(failed),
  ),
  ...perFormat("what is compressed is smaller", async (format) => (await compressed(format, "x".repeat(10_000))).length < 100),
  ...perFormat("random bytes survive", async (format) => {
    const noise = noiseOf(70_000);
    const back = await bytesOf(streamOf(await compressed(format, noise)).pipeThrough(new DecompressionStream(format)));
    return back.length === noise.length && back.every((it, at) => it === noise[at]);
  }),
  ...perFormat("members", (format) => {
    const [a, b] = [new CompressionStream(format), new DecompressionStream(format)];
    return [a, b].map((it) => [it.readable instanceof ReadableStream, it.writable instanceof WritableStream]);
  }),
  "gzip: a checksum that is wrong": async () => {
    const all = await compressed("gzip", "hello");
    all[all.length - 6] ^= 1;
    return decompressed("gzip", all).catch(failed);
  },
  "deflate: a checksum that is wrong": async () => {
    const all = await compressed("deflate", "hello");
    all[all.length - 1] ^= 1;
    return decompressed("deflate", all).catch(failed);
  },
  "gzip: a name and a comment in the header": () =>
    decompressed("gzip", fromHex("1f8b0818000000000003612e74787400686900cb48cdc9c9070086a6103605000000")),
  "gzip's header": async () => [...(await compressed("gzip", "x"))].slice(0, 4),
  "errors are TypeErrors": {
    expected: Array(3).fill("TypeError"),
    run: () =>
      Promise.all(
        FORMATS.map((format) => decompressed(format, new Uint8Array([255, 254, 253, 252])).catch((error) => error.name)),
      ),
  },
  // Node.js 20 never finishes the first.
  "a buffer and a view": {
    expected: ["hello", "hello"],
    run: async () => {
      const all = await compressed("gzip", "hello");
      return [
        await decompressed("gzip", all.buffer.slice(0, all.length)),
        await decompressed("gzip", new DataView(all.buffer, all.byteOffset, all.length)),
      ];
    },
  },
  "a text is no input": {
    expected: ["TypeError", "TypeError"],
    run: () =>
      Promise.all(
        [new CompressionStream("gzip"), new DecompressionStream("gzip")].map((it) =>
          bytesOf(streamOf("text").pipeThrough(it)).catch((error) => error.name),
        ),
      ),
  },
  "unknown formats": () =>
    ["br", "zip", "", "GZIP", undefined].map((format) => {
      try {
        return new CompressionStream(format) && "made";
      } catch (error) {
        return error instanceof TypeError;
      }
    }),
  "a reader that gives up": async () => {
    const zipped = await compressed("gzip", "x".repeat(1_000_000));
    const reader = streamOf(zipped).pipeThrough(new DecompressionStream("gzip")).getReader();
    const { value } = await reader.read();
    await reader.cancel("enough");
    return value.length > 0 && value.length < 1_000_000;
  },
  "writing and reading by hand": async () => {
    const stream = new CompressionStream("deflate");
    const writer = stream.writable.getWriter();
    writer.write(new TextEncoder().encode("by hand"));
    writer.close();
    return decompressed("deflate", await bytesOf(stream.readable));
  },
  "decompressing by hand": async () => {
    const stream = new DecompressionStream("deflate");
    const writer = stream.writable.getWriter();
    const all = await compressed("deflate", "by hand");
    writer.write(all.subarray(0, 5));
    writer.write(all.subarray(5));
    writer.close();
    return new Response(stream.readable).text();
  },
  "a hundred times as much comes piece by piece": async () => {
    const zipped = await compressed("gzip", new Uint8Array(20_000_000));
    let [total, largest] = [0, 0];
    for await (const piece of streamOf(zipped).pipeThrough(new DecompressionStream("gzip"))) {
      total += piece.length;
      largest = Math.max(largest, piece.length);
    }
    return [total, largest <= 1_000_000];
  },
  "data after the end is an error": {
    expected: ["TypeError", "TypeError", "TypeError"],
    run: () =>
      Promise.all(
        FORMATS.map(async (format) =>
          decompressed(format, await compressed(format, "hello"), new Uint8Array([1, 2, 3])).catch((error) => error.name),
        ),
      ),
  },
};

/** Returns pseudorandom bytes, the same each time. */
function noiseOf(length) {
  let state = 1;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state >>> 24;
  });
}
