// Small parts of the web platform that authors expect and the engine has not.

/** Installs what is missing; runs once, while the component is made. */
export function installPolyfills(): void {
  define(URL, "canParse", (url: string, base?: string) => parse(url, base) !== null);
  define(URL, "parse", parse);
  define(Response.prototype, "bytes", async function (this: Response) {
    return new Uint8Array(await this.arrayBuffer());
  });
  define(Response.prototype, "clone", clone);
  define(ReadableStream.prototype, "values", values);
  define(ReadableStream.prototype, Symbol.asyncIterator, values);
}

function define(target: object, name: PropertyKey, value: unknown): void {
  if (name in target) return;
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function parse(url: string, base?: string): URL | null {
  try {
    return new URL(url, base);
  } catch {
    return null;
  }
}

/** Both copies read the same body, each at its own pace. The original's readers go to its half. */
function clone(this: Response): Response {
  const { status, statusText, headers } = this;
  if (this.bodyUsed) throw new TypeError("Response.clone: the body has been read already");
  if (this.body === null) return new Response(null, { status, statusText, headers });
  const [mine, theirs] = this.body.tee();
  const stand_in = new Response(mine);
  for (const reader of ["text", "json", "arrayBuffer", "bytes", "blob", "formData"] as const) {
    Object.defineProperty(this, reader, { value: () => stand_in[reader](), configurable: true });
  }
  Object.defineProperty(this, "body", { get: () => stand_in.body, configurable: true });
  Object.defineProperty(this, "bodyUsed", { get: () => stand_in.bodyUsed, configurable: true });
  return new Response(theirs, { status, statusText, headers });
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
