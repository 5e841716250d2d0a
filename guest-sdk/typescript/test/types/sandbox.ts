// The types of the sandbox: what is there compiles, and nothing else does. Running `tsc` is the test.
export async function there(): Promise<unknown[]> {
  const parts: Uint8Array[] = [];
  for await (const part of new Response("x").body!) parts.push(part);
  const entries = [...new Headers({ a: "b" })].map(([name]) => name);
  const iterated = [1].values().map((n) => n + 1).toArray();
  const union = new Set([1]).union(new Set([2]));
  const timer: number = setTimeout(() => {}, 1);
  const tried = await Promise.try(() => 1);
  const later = await Array.fromAsync([1]);
  const bytes = Uint8Array.fromBase64("aa").toHex();
  const digest = await crypto.subtle.digest("SHA-256", new Uint8Array());
  const { port1 } = new MessageChannel();
  const packed = new Blob(["x"]).stream().pipeThrough(new CompressionStream("gzip"));
  self.reportError(new DOMException("x", "AbortError"));
  return [parts, entries, iterated, union, timer, tried, later, bytes, digest, port1, packed, global.Date, navigator.userAgent, performance.now(), /[\p{L}--[a-z]]/v];
}

export function notThere(): unknown[] {
  return [
    // @ts-expect-error workers
    Worker,
    // @ts-expect-error
    WebSocket,
    // @ts-expect-error
    EventSource,
    // @ts-expect-error
    WebAssembly,
    // @ts-expect-error
    indexedDB,
    // @ts-expect-error
    caches,
    // @ts-expect-error
    location,
    // @ts-expect-error
    XMLHttpRequest,
    // @ts-expect-error
    FileReader,
    // @ts-expect-error
    URLPattern,
    // @ts-expect-error
    self.indexedDB,
    // @ts-expect-error
    addEventListener,
    // @ts-expect-error
    navigator.language,
    // @ts-expect-error
    performance.mark,
    // @ts-expect-error
    URL.createObjectURL,
    // @ts-expect-error Node.js
    process,
    // @ts-expect-error a page
    document,
  ];
}
