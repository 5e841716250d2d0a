// What all methods of the MCP server for tests use.
import type { ToolContent } from "../types.js";
import type { Target } from "./dispatch.js";

/** Calls a tool, a prompt, a resource or a completion. A resource is named by its path. */
export type Caller = (target: Target, args: Record<string, unknown>) => Promise<object>;

/** An error of JSON-RPC. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly status = 200,
  ) {
    super(message);
  }
}

/** Converts content to its form in MCP: binary data in base64. */
export function encoded(content: ToolContent): unknown {
  if (content.type === "resource") {
    const { resource } = content;
    return "blob" in resource ? { ...content, resource: { ...resource, blob: base64(resource.blob) } } : content;
  }
  return content.type === "resource_link" ? content : { ...content, data: base64(content.data) };
}

export function base64(data: Uint8Array | string): string {
  return typeof data === "string" ? data : Buffer.from(data.buffer, data.byteOffset, data.length).toString("base64");
}
