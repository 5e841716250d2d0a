// ReadableStream, WritableStream, TransformStream and their strategies.
const streamOf = (...pieces) =>
  new ReadableStream({
    start(it) {
      for (const piece of pieces) it.enqueue(piece);
      it.close();
    },
  });
const all = async (stream) => {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
};
const sink = () => {
  const log = [];
  return {
    log,
    stream: new WritableStream({
      write: (it) => void log.push(it),
      close: () => void log.push("close"),
      abort: (why) => void log.push(["abort", why]),
    }),
  };
};
const name = (error) => error?.name ?? error;

export default {
  reading: async () => {
    const reader = streamOf("a", "b").getReader();
    return [await reader.read(), await reader.read(), await reader.read(), (await reader.closed) === undefined];
  },
  "pull is asked as it is read": async () => {
    let count = 0;
    const stream = new ReadableStream({ pull: (it) => (count < 3 ? it.enqueue((count += 1)) : it.close()) });
    return [await all(stream), count];
  },
  "pull may be asynchronous": async () => {
    let count = 0;
    return all(
      new ReadableStream({
        async pull(it) {
          await null;
          count += 1;
          it.enqueue(count);
          if (count === 3) it.close();
        },
      }),
    );
  },
  "the high water mark": async () => {
    let pulled = 0;
    const stream = new ReadableStream({ pull: (it) => it.enqueue((pulled += 1)) }, { highWaterMark: 3 });
    await null;
    await new Promise((resolve) => setTimeout(resolve, 5));
    const before = pulled;
    await stream.cancel();
    return before;
  },
  desiredSize: () =>
    new Promise((resolve) => {
      new ReadableStream(
        {
          start(it) {
            const sizes = [it.desiredSize];
            it.enqueue("a");
            sizes.push(it.desiredSize);
            it.close();
            sizes.push(it.desiredSize);
            resolve(sizes);
          },
        },
        new CountQueuingStrategy({ highWaterMark: 2 }),
      );
    }),
  "byte lengths": () =>
    new Promise((resolve) => {
      new ReadableStream(
        {
          start(it) {
            it.enqueue(new Uint8Array(3));
            resolve(it.desiredSize);
          },
        },
        new ByteLengthQueuingStrategy({ highWaterMark: 10 }),
      );
    }),
  strategies: () => [
    new CountQueuingStrategy({ highWaterMark: 2 }).highWaterMark,
    new CountQueuingStrategy({ highWaterMark: 2 }).size("abc"),
    new ByteLengthQueuingStrategy({ highWaterMark: 3 }).size(new Uint8Array(5)),
  ],
  "a high water mark that is none": () => new ReadableStream({}, { highWaterMark: -1 }),
  "an error": async () => {
    const stream = new ReadableStream({ start: (it) => it.error(new RangeError("x")) });
    return [await stream.getReader().read().catch(name)];
  },
  "start throws": () =>
    new ReadableStream({
      start() {
        throw new RangeError("x");
      },
    }),
  "pull throws": () =>
    all(
      new ReadableStream({
        pull() {
          throw new RangeError("x");
        },
      }),
    ),
  "enqueue after close": () => new ReadableStream({ start: (it) => (it.close(), it.enqueue("x")) }),
  cancel: async () => {
    const log = [];
    const stream = new ReadableStream({ cancel: (why) => void log.push(why) });
    await stream.cancel("why");
    return [log, await stream.getReader().read()];
  },
  "cancel of a locked stream": () => {
    const stream = streamOf("a");
    stream.getReader();
    return stream.cancel();
  },
  "two readers": () => {
    const stream = streamOf("a");
    const before = stream.locked;
    stream.getReader();
    try {
      stream.getReader();
    } catch (error) {
      return [before, stream.locked, error.name];
    }
    return "two";
  },
  releaseLock: async () => {
    const stream = streamOf("a", "b");
    const first = stream.getReader();
    await first.read();
    first.releaseLock();
    return [stream.locked, await first.read().catch(name), await all(stream)];
  },
  "for await": () => all(streamOf(1, 2, 3)),
  "for await that is left early cancels": async () => {
    let cancelled = false;
    const stream = new ReadableStream({ pull: (it) => it.enqueue("x"), cancel: () => void (cancelled = true) });
    for await (const _ of stream) break;
    return [cancelled, stream.locked];
  },
  "values with preventCancel": async () => {
    let cancelled = false;
    const stream = new ReadableStream({ pull: (it) => it.enqueue("x"), cancel: () => void (cancelled = true) });
    for await (const _ of stream.values({ preventCancel: true })) break;
    return [cancelled, stream.locked];
  },
  from: async () => [
    await all(ReadableStream.from(["a", "b"])),
    await all(
      ReadableStream.from(
        (async function* () {
          yield 1;
          yield 2;
        })(),
      ),
    ),
    await all(ReadableStream.from(new Set([1]))),
  ],
  "from of nothing to iterate": () => ReadableStream.from({}),
  tee: async () => {
    const [a, b] = streamOf("a", "b").tee();
    return [await all(a), await all(b)];
  },
  "tee and cancel of both": async () => {
    let why;
    const [a, b] = new ReadableStream({ cancel: (reason) => void (why = reason) }).tee();
    await Promise.all([a.cancel("a"), b.cancel("b")]);
    return why;
  },
  pipeTo: async () => {
    const { log, stream } = sink();
    await streamOf("a", "b").pipeTo(stream);
    return log;
  },
  "pipeTo and preventClose": async () => {
    const { log, stream } = sink();
    await streamOf("a").pipeTo(stream, { preventClose: true });
    return [log, stream.locked];
  },
  "pipeTo of an error": async () => {
    const { log, stream } = sink();
    const failed = await new ReadableStream({ start: (it) => it.error("why") }).pipeTo(stream).catch(name);
    return [failed, log];
  },
  "pipeTo to an error": async () => {
    let why;
    const source = new ReadableStream({ pull: (it) => it.enqueue("x"), cancel: (reason) => void (why = reason) });
    const failed = await source.pipeTo(new WritableStream({ write: () => Promise.reject("full") })).catch(name);
    return [failed, why];
  },
  "pipeTo with a signal": async () => {
    const control = new AbortController();
    const { log, stream } = sink();
    const piped = new ReadableStream({}).pipeTo(stream, { signal: control.signal }).catch(name);
    control.abort("stop");
    return [await piped, log];
  },
  "pipeTo with an aborted signal": () => streamOf("a").pipeTo(new WritableStream(), { signal: AbortSignal.abort() }),
  pipeThrough: () => all(streamOf(1, 2).pipeThrough(new TransformStream({ transform: (it, to) => to.enqueue(it * 2) }))),
  "pipeThrough of what is no pair": () => streamOf(1).pipeThrough({}),
  writing: async () => {
    const { log, stream } = sink();
    const writer = stream.getWriter();
    const sizes = [writer.desiredSize];
    writer.write("a");
    sizes.push(writer.desiredSize);
    await writer.ready;
    writer.write("b");
    await writer.close();
    return [log, sizes, (await writer.closed) === undefined, stream.locked];
  },
  "writes wait for each other": async () => {
    const log = [];
    const stream = new WritableStream({
      async write(it) {
        log.push(`begin ${it}`);
        await new Promise((resolve) => setTimeout(resolve, 2));
        log.push(`end ${it}`);
      },
    });
    const writer = stream.getWriter();
    await Promise.all([writer.write(1), writer.write(2)]);
    return log;
  },
  "a write that fails": async () => {
    const writer = new WritableStream({
      write() {
        throw new RangeError("x");
      },
    }).getWriter();
    writer.closed.catch(() => {});
    return [await writer.write("a").catch(name), await writer.write("b").catch(name), await writer.close().catch(name)];
  },
  "abort of a writer": async () => {
    const { log, stream } = sink();
    const writer = stream.getWriter();
    writer.closed.catch(() => {});
    await writer.abort("why");
    return [log, await writer.write("x").catch(name)];
  },
  "writing after close": {
    expected: "TypeError",
    run: async () => {
      const writer = sink().stream.getWriter();
      await writer.close();
      return writer.write("x").catch(name);
    },
  },
  "the controller's signal": async () => {
    let signal;
    const writer = new WritableStream({ start: (it) => void (signal = it.signal) }).getWriter();
    writer.closed.catch(() => {});
    const before = signal.aborted;
    await writer.abort("why");
    return [before, signal.aborted, signal.reason];
  },
  "two writers": () => {
    const { stream } = sink();
    stream.getWriter();
    return stream.getWriter();
  },
  "TransformStream passes on": async () => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    writer.write("a");
    writer.write("b");
    writer.close();
    return all(readable);
  },
  flush: () => all(streamOf("a").pipeThrough(new TransformStream({ flush: (it) => it.enqueue("end") }))),
  terminate: () =>
    all(streamOf("a", "b").pipeThrough(new TransformStream({ transform: (it, to) => (to.enqueue(it), to.terminate()) }))),
  "transform throws": () =>
    all(
      streamOf("a").pipeThrough(
        new TransformStream({
          transform() {
            throw new RangeError("x");
          },
        }),
      ),
    ),
  "a byte stream": async () => {
    const stream = new ReadableStream({ type: "bytes", start: (it) => (it.enqueue(new Uint8Array([1, 2, 3])), it.close()) });
    const reader = stream.getReader({ mode: "byob" });
    const first = await reader.read(new Uint8Array(2));
    const second = await reader.read(new Uint8Array(2));
    const third = await reader.read(new Uint8Array(2));
    return [[...first.value], [...second.value], third.done, third.value.length];
  },
  "a byte stream fills a buffer": async () => {
    const stream = new ReadableStream({
      type: "bytes",
      pull(it) {
        const { view } = it.byobRequest;
        view[0] = 7;
        it.byobRequest.respond(1);
      },
    });
    const reader = stream.getReader({ mode: "byob" });
    return [...(await reader.read(new Uint8Array(4))).value];
  },
  "a byte stream by a default reader": async () => {
    const stream = new ReadableStream({ type: "bytes", start: (it) => (it.enqueue(new Uint8Array([1, 2])), it.close()) });
    return (await all(stream)).map((it) => [...it]);
  },
  "byob of another stream": () => streamOf("a").getReader({ mode: "byob" }),
  tags: () =>
    [new ReadableStream(), new WritableStream(), new TransformStream(), new CountQueuingStrategy({ highWaterMark: 1 })].map(
      (it) => Object.prototype.toString.call(it),
    ),
  "constructors of what has none": () =>
    [ReadableStreamDefaultController, TransformStreamDefaultController, ReadableStreamBYOBRequest].map((it) => {
      try {
        return new it() && "made";
      } catch (error) {
        return error.name;
      }
    }),
  "a reader of a stream": async () => (await new ReadableStreamDefaultReader(streamOf("a")).read()).value,
  "a writer of a stream": async () => {
    const { log, stream } = sink();
    await new WritableStreamDefaultWriter(stream).write("a");
    return log;
  },
  "many pieces": async () => (await all(streamOf(...Array(2000).fill("x")).pipeThrough(new TransformStream()))).length,
};
