// HTTP server on loopback for programs that have the token. It refuses requests from Web pages.
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIP, type AddressInfo } from "node:net";

import { BuildFailure } from "../build/failure.js";
import { limitsOfCalls } from "../rules.js";

/** Address to listen on. */
export interface Listen {
  host: string;
  port: number;
}

/**
 * Parses `127.0.0.1:8788`, `localhost:0` or `[::1]:8788`; throws a `BuildFailure` unless it is a loopback
 * address.
 */
export function listenAddress(text: string): Listen {
  const found = /^(?:\[([0-9a-f:]+)\]|([^:[\]]+)):(\d{1,5})$/i.exec(text);
  const host = found?.[1] ?? found?.[2] ?? "";
  const port = Number(found?.[3]);
  if (found === null || port > 65_535) throw new BuildFailure("usage", `--listen takes an address and a port, such as 127.0.0.1:8788, and not ${JSON.stringify(text)}`);
  const loopback = host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
  if (!loopback) throw new BuildFailure("usage", `${host} is not on this machine alone: there are no users here, so --listen takes loopback addresses only`);
  return { host, port };
}

/** Serves `answer` at `/mcp` to clients with the token; resolves once the server listens. */
export async function serve({ host, port }: Listen, token: string, answer: (request: Request) => Promise<Response>): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    void respond(request, response, token, answer).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "another program listens there" : error.message;
      reject(new BuildFailure("usage", `cannot listen on ${host}:${port}: ${why}; name another address with --listen`));
    });
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  return { server, url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound}/mcp` };
}

async function respond(request: IncomingMessage, response: ServerResponse, token: string, answer: (request: Request) => Promise<Response>): Promise<void> {
  const refusal = refused(request, token);
  if (refusal !== undefined) return refuse(response, ...refusal);
  const body = await bodyOf(request);
  if (body === undefined) return refuse(response, 413, `a request has at most ${limitsOfCalls().mcpRequest >> 20} MiB`);

  const headers = Object.entries(request.headers).filter((it): it is [string, string] => typeof it[1] === "string");
  const { method = "GET" } = request;
  const isBodiless = method === "GET" || method === "HEAD";
  const answered = await answer(new Request(`http://${request.headers.host}/mcp`, { method, headers, ...(!isBodiless && { body }) }));
  const content = new Uint8Array(await answered.arrayBuffer());
  response.writeHead(answered.status, { ...Object.fromEntries(answered.headers), "content-length": content.length });
  response.end(content);
}

/**
 * Returns the status and message with which to refuse a request, if any. `Host` and `Origin` are checked
 * because a Web page can reach this server through DNS rebinding.
 */
function refused({ method, url, headers, socket }: IncomingMessage, token: string): [status: number, why: string] | undefined {
  const own = [socket.localAddress, "localhost"].map((name) => `${name!.includes(":") ? `[${name}]` : name}:${socket.localPort}`);
  if (!own.includes(headers.host?.toLowerCase() ?? "")) return [403, "the Host of the request is not this server"];
  const { origin } = headers;
  if (origin !== undefined && !own.some((it) => origin === `http://${it}`)) return [403, "pages of this Origin may not call this server"];
  if (new URL(url ?? "/", "http://local").pathname !== "/mcp") return [404, "there is nothing here: MCP is spoken at /mcp"];
  if (!isEqual(headers.authorization ?? "", `Bearer ${token}`)) return [401, "this server wants the token that `kitbag toolkit dev` prints: Authorization: Bearer …"];
  if (method !== "POST") return undefined;
  const type = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return type === "application/json" ? undefined : [415, "Content-Type must be application/json"];
}

/** Compares two texts in constant time. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(a!, b!);
}

/** Reads a body; returns `undefined` if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > limitsOfCalls().mcpRequest) return undefined;
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32600, message } }));
}
