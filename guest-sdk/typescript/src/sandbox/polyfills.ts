// Small parts of the web platform that authors expect and the engine has not, or has otherwise.

/** Installs what is missing; runs once, while the component is made. */
export function installPolyfills(): void {
  define(URL, "canParse", (url: string, base?: string) => parse(url, base) !== null);
  define(URL, "parse", parse);
  define(Response.prototype, "bytes", async function (this: Response) {
    return new Uint8Array(await this.arrayBuffer());
  });
  define(Response.prototype, "clone", clone);
  for (const body of [Request.prototype, Response.prototype]) {
    replace(body, "text", text);
    replace(body, "json", json);
    replace(body, "blob", blob);
  }
  replace(AbortSignal, "any", any);
  replace(AbortSignal.prototype, "throwIfAborted", throwIfAborted);
  define(globalThis, "TextDecoderStream", TextDecoderStream);
  define(globalThis, "TextEncoderStream", TextEncoderStream);
  define(ReadableStream.prototype, "values", values);
  define(ReadableStream.prototype, Symbol.asyncIterator, values);
}

function define(target: object, name: PropertyKey, value: unknown): void {
  if (!(name in target)) replace(target, name, value);
}

function replace(target: object, name: PropertyKey, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function parse(url: string, base?: string): URL | null {
  try {
    return new URL(url, base);
  } catch {
    return null;
  }
}

/** The engine's own refuses bytes that are no UTF-8, and keeps a byte order mark. */
async function text(this: Response | Request): Promise<string> {
  return new TextDecoder().decode(await this.arrayBuffer());
}

async function json(this: Response | Request): Promise<unknown> {
  return JSON.parse(await text.call(this));
}

/** The engine's own has no type. */
async function blob(this: Response | Request): Promise<Blob> {
  return new Blob([await this.arrayBuffer()], { type: this.headers.get("content-type") ?? "" });
}

/** The engine's own ends the whole call. */
function throwIfAborted(this: AbortSignal): void {
  if (this.aborted) throw this.reason;
}

/** The engine's own loses the reason. */
function any(signals: Iterable<AbortSignal>): AbortSignal {
  const control = new AbortController();
  const all = [...signals];
  const stop = (event: Event) => {
    for (const signal of all) signal.removeEventListener("abort", stop);
    control.abort((event.target as AbortSignal).reason);
  };
  const stopped = all.find(({ aborted }) => aborted);
  if (stopped !== undefined) control.abort(stopped.reason);
  else for (const signal of all) signal.addEventListener("abort", stop);
  return control.signal;
}

/** Both copies read the same body, each at its own pace. The original's readers go to its half. */
function clone(this: Response): Response {
  if (this.bodyUsed) throw new TypeError("Response.clone: the body has been read already");
  if (this.body === null) return standIn(this, null);
  const [mine, theirs] = this.body.tee();
  const stand_in = new Response(mine);
  for (const reader of ["text", "json", "arrayBuffer", "bytes", "blob", "formData"] as const) {
    Object.defineProperty(this, reader, { value: () => stand_in[reader](), configurable: true });
  }
  Object.defineProperty(this, "body", { get: () => stand_in.body, configurable: true });
  Object.defineProperty(this, "bodyUsed", { get: () => stand_in.bodyUsed, configurable: true });
  return standIn(this, theirs);
}

/** Returns a response like another one, but with a body of its own. */
export function standIn(response: Response, body: ReadableStream | null): Response {
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: url });
}

class TextDecoderStream {
  readonly #decoder: TextDecoder;
  readonly readable: ReadableStream<string>;
  readonly writable: WritableStream<BufferSource>;

  constructor(label?: string, options?: TextDecoderOptions) {
    const decoder = (this.#decoder = new TextDecoder(label, options));
    const pass = (text: string, to: TransformStreamDefaultController<string>) => (text === "" ? undefined : to.enqueue(text));
    ({ readable: this.readable, writable: this.writable } = new TransformStream<BufferSource, string>({
      transform: (bytes, to) => pass(decoder.decode(bytes, { stream: true }), to),
      flush: (to) => pass(decoder.decode(), to),
    }));
  }

  get encoding(): string {
    return this.#decoder.encoding;
  }

  get fatal(): boolean {
    return this.#decoder.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM;
  }
}

class TextEncoderStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<string>;

  constructor() {
    const encoder = new TextEncoder();
    // The first half of a letter of two may end one piece, and the second begin the next.
    let half = "";
    ({ readable: this.readable, writable: this.writable } = new TransformStream<string, Uint8Array>({
      transform: (piece, to) => {
        const text = half + String(piece);
        half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
        if (text.length > half.length) to.enqueue(encoder.encode(text.slice(0, text.length - half.length)));
      },
      flush: (to) => (half === "" ? undefined : to.enqueue(encoder.encode(half))),
    }));
  }

  get encoding(): string {
    return "utf-8";
  }
}

async function* values(this: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = this.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // A loop that is left early wants no more of the body.
    await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}
