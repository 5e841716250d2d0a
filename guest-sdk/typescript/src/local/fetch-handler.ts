// MCP server for tests of a toolkit: the protocol of docs/mcp.md without authorization.
import type { ToolkitDefinition } from "../define.js";
import type { Manifest } from "../manifest.js";
import { limitsOfCalls, listedArguments, listedSchema } from "../rules.js";
import { dispatch, type DispatchResult, type TestWorld } from "./dispatch.js";
import { answerOffer } from "./offer-methods.js";
import { offer } from "./offers.js";
import { encoded, RpcError, type Caller } from "./rpc.js";

const STATELESS = "2026-07-28";
const VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", STATELESS];
const LATEST_WITH_INITIALIZE = "2025-11-25";
const CAPABILITIES = { completions: {}, prompts: {}, resources: {}, tools: {} };

type Params = { [key: string]: unknown };

/**
 * Returns the toolkit as an MCP server for tests: a function from an HTTP request to its response. It
 * supports the stateless revision of MCP and those with `initialize`, without authorization. `world` is the
 * environment of calls.
 */
export function toFetchHandler(server: ToolkitDefinition, world: TestWorld = {}): (request: Request) => Promise<Response> {
  return fetchHandler(server.manifest, (target, args) =>
    target.kind === "tool" ? dispatch(server, { ...world, tool: target.name, arguments: args }) : offer(server, target, args as Record<string, string>, world),
  );
}

/** Returns an MCP server for a manifest; `caller` runs the calls. */
export function fetchHandler(manifest: Manifest, caller: Caller): (request: Request) => Promise<Response> {
  return async (request) => {
    if (request.method !== "POST") {
      return reply(405, { error: { code: -32600, message: "POST is the only method here" } }, { allow: "POST" });
    }
    let message: { id?: unknown; method?: unknown; params?: unknown } | undefined;
    try {
      message = parse(await request.text());
      if (!("id" in message)) return new Response(null, { status: 202 });
      const result = await answer(manifest, caller, request.headers, message);
      return reply(200, { id: message.id, result });
    } catch (error) {
      const known = error instanceof RpcError ? error : new RpcError(-32603, error instanceof Error ? error.message : String(error));
      return reply(known.status, { ...(message && { id: message.id }), error: { code: known.code, message: known.message } });
    }
  };
}

async function answer(
  manifest: Manifest,
  caller: Caller,
  headers: Headers,
  message: { method?: unknown; params?: unknown },
): Promise<unknown> {
  const method = String(message.method);
  const params = (message.params ?? {}) as Params;
  const meta = (params._meta ?? {}) as Params;
  const stateless = headers.get("mcp-protocol-version") === STATELESS || meta["io.modelcontextprotocol/protocolVersion"] === STATELESS;
  if (stateless) checkHeaders(headers, method, params);
  const complete = stateless ? { resultType: "complete" } : {};
  const listing = stateless ? { ...complete, ttlMs: 0, cacheScope: "private" } : {};
  switch (method) {
    case "initialize": {
      const requested = String(params.protocolVersion);
      const protocolVersion = requested !== STATELESS && VERSIONS.includes(requested) ? requested : LATEST_WITH_INITIALIZE;
      return { protocolVersion, capabilities: CAPABILITIES, serverInfo: serverInfo() };
    }
    case "server/discover":
      return {
        ...complete,
        supportedVersions: VERSIONS,
        capabilities: CAPABILITIES,
        ttlMs: 0,
        cacheScope: "private",
        _meta: { "io.modelcontextprotocol/serverInfo": serverInfo() },
      };
    case "ping":
      return { ...complete };
    case "tools/list":
      return { ...listing, tools: list(manifest) };
    case "tools/call":
      return { ...complete, ...(await call(manifest, caller, params)) };
    default: {
      const offered = await answerOffer(manifest, caller, method, params);
      if (offered !== undefined) return { ...(offered.isListing ? listing : complete), ...offered.result };
      throw new RpcError(-32601, method, stateless ? 404 : 200);
    }
  }
}

function serverInfo(): object {
  return { name: "kitbag", title: "Kitbag", version: limitsOfCalls().version };
}

/** Lists the tools: first those with `alwaysOn`, then the others, each in declaration order. */
function list(manifest: Manifest): unknown[] {
  const ordered = [...manifest.tools].sort((a, b) => Number(b.alwaysOn) - Number(a.alwaysOn));
  return ordered.map((tool) => ({
    name: `${manifest.id}__${tool.name}`,
    ...(tool.title !== undefined && { title: tool.title }),
    description: tool.description,
    inputSchema: listedArguments(tool.inputSchema),
    ...(tool.outputSchema !== undefined && { outputSchema: listedSchema(tool.outputSchema) }),
    annotations: tool.annotations,
  }));
}

async function call({ id, tools }: Manifest, caller: Caller, params: Params): Promise<object> {
  const { name } = params;
  const args = params.arguments ?? {};
  if (typeof name !== "string" || typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new RpcError(-32602, "the parameters are not those of tools/call");
  }
  if (!tools.some((tool) => name === `${id}__${tool.name}`)) throw new RpcError(-32602, `unknown tool: ${name}`);
  return toolResult((await caller({ kind: "tool", name: name.slice(id.length + 2) }, args as Record<string, unknown>)) as DispatchResult);
}

function toolResult(result: DispatchResult): object {
  if (!result.ok) {
    return { content: [{ type: "text", text: JSON.stringify(result) }], isError: true };
  }
  const { text, content = [], structuredContent } = result;
  return {
    // As on a server: model APIs refuse an empty text.
    content: [...(text === "" && content.length > 0 ? [] : [{ type: "text", text }]), ...content.map(encoded)],
    ...(structuredContent !== undefined && { structuredContent }),
    isError: false,
  };
}

/** Throws an `RpcError` unless the `Mcp-Method` and `Mcp-Name` headers match the body. */
function checkHeaders(headers: Headers, method: string, params: Params): void {
  const header = headers.get("mcp-method");
  if (header === null) throw new RpcError(-32020, "the header Mcp-Method is missing", 400);
  if (header !== method) {
    throw new RpcError(-32020, `the header Mcp-Method names another method than the message, ${JSON.stringify(method)}`, 400);
  }
  if (!["tools/call", "prompts/get", "resources/read"].includes(method)) return;
  const expected = method === "resources/read" ? params.uri : params.name;
  if (headers.get("mcp-name") !== expected) {
    throw new RpcError(-32020, `the header mcp-name must be there once, and say ${JSON.stringify(expected)} as the message does`, 400);
  }
}

function parse(body: string): { id?: unknown; method?: unknown; params?: unknown } {
  let message: unknown;
  try {
    message = JSON.parse(body);
  } catch {
    throw new RpcError(-32700, "this is not JSON", 400);
  }
  const isObject = typeof message === "object" && message !== null && !Array.isArray(message);
  if (!isObject || (message as { jsonrpc?: unknown }).jsonrpc !== "2.0") {
    throw new RpcError(-32600, "a message is one JSON object of JSON-RPC 2.0, never a batch", 400);
  }
  return message as { id?: unknown };
}

function reply(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: "2.0", ...body }, { status, headers });
}
