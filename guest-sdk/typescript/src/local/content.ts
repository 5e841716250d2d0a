// Content blocks on their way to the host, which needs no data of them.
import type { ToolContent } from "../types.js";

/** Returns a block without its data or text. */
export function withoutData(block: ToolContent): object {
  const { data: _, ...rest } = block as ToolContent & { data?: unknown };
  if (rest.type !== "resource") return rest;
  const { text: __, blob: ___, ...resource } = rest.resource as { uri: string; text?: unknown; blob?: unknown };
  return { ...rest, resource };
}

/** Returns the size of the data or text of a block, in bytes. */
export function bytesOf(block: ToolContent): number {
  if ("data" in block) return dataSize(block.data);
  if (block.type !== "resource") return 0;
  return "blob" in block.resource ? dataSize(block.resource.blob) : utf8Length(block.resource.text);
}

/** Returns a block with another URI; `undefined` and `null` leave it as it is. */
export function withUri<Block extends ToolContent>(block: Block, uri: string | null | undefined): Block {
  if (uri == null) return block;
  return block.type === "resource" ? { ...block, resource: { ...block.resource, uri } } : { ...block, uri };
}

/** Returns the number of bytes, or of decoded bytes if the data is a base64 string. */
export function dataSize(data: Uint8Array | string): number {
  return typeof data === "string" ? Math.floor((data.replace(/=+$/, "").length * 3) / 4) : data.length;
}

export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
