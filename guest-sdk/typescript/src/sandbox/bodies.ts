// Bodies of requests and responses: what the engine has not, or has otherwise.

/** The engine's own refuses bytes that are no UTF-8, and keeps a byte order mark. */
export async function text(this: Response | Request): Promise<string> {
  return new TextDecoder().decode(await this.arrayBuffer());
}

export async function json(this: Response | Request): Promise<unknown> {
  return JSON.parse(await text.call(this));
}

export async function bytes(this: Response): Promise<Uint8Array> {
  return new Uint8Array(await this.arrayBuffer());
}

/** The engine's own has no type. */
export async function blob(this: Response | Request): Promise<Blob> {
  return new Blob([await this.arrayBuffer()], { type: this.headers.get("content-type") ?? "" });
}

/** Both copies read the same body, each at its own pace. The original's readers go to its half. */
export function clone(this: Response): Response {
  if (this.bodyUsed) throw new TypeError("Response.clone: the body has been read already");
  if (this.body === null) return standIn(this, null);
  const [mine, theirs] = this.body.tee();
  // Readers of blobs and forms look at the headers.
  const half = new Response(mine, { headers: this.headers });
  for (const reader of ["text", "json", "arrayBuffer", "bytes", "blob", "formData"] as const) {
    Object.defineProperty(this, reader, { value: () => half[reader](), configurable: true });
  }
  Object.defineProperty(this, "body", { get: () => half.body, configurable: true });
  Object.defineProperty(this, "bodyUsed", { get: () => half.bodyUsed, configurable: true });
  return standIn(this, theirs);
}

/** Returns a response like another one, but with a body of its own. */
export function standIn(response: Response, body: ReadableStream | null): Response {
  const made = new Response(body, { headers: response.headers });
  // Servers answer with more than a constructor takes, such as status 999.
  for (const name of ["status", "statusText", "ok", "url"] as const) {
    Object.defineProperty(made, name, { value: response[name], configurable: true });
  }
  return made;
}

/** A stream's pieces, for `for await`. */
export async function* values(this: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
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
