import type { Offered } from "../offers.js";
import type { ContentAnnotations, ToolContent } from "../types.js";

/** The WIT record `content-block`. */
export interface WitContentBlock {
  content: WitContent;
  annotations: ContentAnnotations | undefined;
}

/** The WIT variant `content`. */
type WitContent =
  | { tag: "image" | "audio"; val: { data: Uint8Array; mediaType: string } }
  | {
      tag: "resource";
      val: {
        uri: string;
        mediaType: string | undefined;
        body: { tag: "text"; val: string } | { tag: "blob"; val: Uint8Array };
      };
    }
  | {
      tag: "resource-link";
      val: {
        uri: string;
        name: string;
        title: string | undefined;
        description: string | undefined;
        mediaType: string | undefined;
        size: number | undefined;
      };
    };

/** Converts a checked content block to the types of the WIT contract. */
export function contentBlock(block: ToolContent): WitContentBlock {
  return { content: content(block), annotations: block.annotations };
}

/** Converts the contents of a resource to the WIT record `resource-contents`. */
export function contentsValue(contents: Extract<Offered, { contents: unknown }>["contents"]): {
  mediaType: string | undefined;
  body: { tag: "text"; val: string } | { tag: "blob"; val: Uint8Array };
} {
  const body = "text" in contents ? ({ tag: "text", val: contents.text } as const) : ({ tag: "blob", val: bytes(contents.blob) } as const);
  return { mediaType: contents.mimeType, body };
}

function content(block: ToolContent): WitContent {
  switch (block.type) {
    case "image":
    case "audio":
      return { tag: block.type, val: { data: bytes(block.data), mediaType: block.mimeType } };
    case "resource": {
      const { resource } = block;
      const body =
        "text" in resource
          ? ({ tag: "text", val: resource.text } as const)
          : ({ tag: "blob", val: bytes(resource.blob) } as const);
      return { tag: "resource", val: { uri: resource.uri, mediaType: resource.mimeType, body } };
    }
    case "resource_link": {
      const { uri, name, title, description, mimeType, size } = block;
      return { tag: "resource-link", val: { uri, name, title, description, mediaType: mimeType, size } };
    }
  }
}

function bytes(data: Uint8Array | string): Uint8Array {
  if (typeof data !== "string") return data;
  return Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
}
