import type { ToolContent } from "../types.js";

/** The WIT variant `content`. */
export type WitContent =
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

/** Converts checked content blocks to the types of the WIT contract. */
export function contents(list: ToolContent[]): WitContent[] {
  return list.map((content) => {
    switch (content.type) {
      case "image":
      case "audio":
        return { tag: content.type, val: { data: bytes(content.data), mediaType: content.mimeType } };
      case "resource": {
        const { resource } = content;
        const body =
          "text" in resource
            ? ({ tag: "text", val: resource.text } as const)
            : ({ tag: "blob", val: bytes(resource.blob) } as const);
        return { tag: "resource", val: { uri: resource.uri, mediaType: resource.mimeType, body } };
      }
      case "resource_link": {
        const { uri, name, title, description, mimeType, size } = content;
        return { tag: "resource-link", val: { uri, name, title, description, mediaType: mimeType, size } };
      }
    }
  });
}

function bytes(data: Uint8Array | string): Uint8Array {
  if (typeof data !== "string") return data;
  return Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
}
