// Checks that a handler's result has known members only: unknown ones would be dropped silently, and a failure reported as
// `isError: true` would become a success.
import type { ToolContent, ToolResult } from "./types.js";

const RESULT = ["text", "structured", "content"];

const CONTENT: Record<ToolContent["type"], string[]> = {
  image: ["type", "data", "mimeType", "annotations"],
  audio: ["type", "data", "mimeType", "annotations"],
  resource: ["type", "resource", "annotations"],
  resource_link: ["type", "uri", "name", "title", "description", "mimeType", "size", "annotations"],
};

const RESOURCE = ["uri", "mimeType", "text", "blob"];

const ANNOTATIONS = ["audience", "priority", "lastModified"];

/** Date and time as in RFC 3339. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Advice on replacing members of MCP that toolkits do not support. */
const INSTEAD: Record<string, string> = {
  isError: "to report a failure, throw new ToolError(message)",
  structuredContent: "the value for programs is named structured",
  _meta: "_meta is not passed on",
};

/** Returns the result of a handler; throws a `TypeError` that names what is wrong with it. */
export function checkedReturn(returned: unknown): ToolResult {
  if (typeof returned === "string") return { text: returned };
  if (!isObject(returned)) throw new TypeError("the handler must return a string or { text, structured?, content? }");
  refuseUnknown(returned, RESULT, "the handler's result");
  if (typeof returned.text !== "string") throw new TypeError("the handler must return a string or { text, structured?, content? }");
  const { content } = returned;
  if (content !== undefined && !Array.isArray(content)) throw new TypeError("content must be a list of content blocks");
  (content as unknown[] | undefined)?.forEach((block, index) => checkContent(block, `content[${index}]`));
  return returned as unknown as ToolResult;
}

export function checkContent(block: unknown, path: string): void {
  if (!isObject(block) || !Object.hasOwn(CONTENT, String(block.type))) {
    throw new TypeError(`${path} must be of the type ${Object.keys(CONTENT).join(", ")}: a text stands in the result's text`);
  }
  const type = block.type as ToolContent["type"];
  refuseUnknown(block, CONTENT[type], path);
  if (block.annotations !== undefined) checkAnnotations(block.annotations, `${path}.annotations`);
  if (type === "resource_link") return texts(block, ["uri", "name"], path);
  if (type !== "resource") {
    texts(block, ["mimeType"], path);
    return bytes(block.data, `${path}.data`);
  }
  const { resource } = block;
  if (!isObject(resource)) throw new TypeError(`${path}.resource must be an object`);
  refuseUnknown(resource, RESOURCE, `${path}.resource`);
  texts(resource, ["uri"], `${path}.resource`);
  if (resource.text === undefined) return bytes(resource.blob, `${path}.resource.blob`);
  texts(resource, ["text"], `${path}.resource`);
}

/** Checks hints: clients would refuse the whole result because of an invalid one. */
function checkAnnotations(annotations: unknown, path: string): void {
  if (!isObject(annotations)) throw new TypeError(`${path} must be an object`);
  refuseUnknown(annotations, ANNOTATIONS, path);
  const { audience, priority, lastModified } = annotations;
  const roles: unknown[] = Array.isArray(audience) ? audience : [];
  if (audience !== undefined && (!Array.isArray(audience) || roles.length > 2 || roles.some((role) => role !== "user" && role !== "assistant"))) {
    throw new TypeError(`${path}.audience must be a list of "user" and "assistant"`);
  }
  if (priority !== undefined && !(typeof priority === "number" && priority >= 0 && priority <= 1)) {
    throw new TypeError(`${path}.priority must be a number from 0 to 1`);
  }
  if (lastModified !== undefined && !(typeof lastModified === "string" && TIME.test(lastModified) && !Number.isNaN(Date.parse(lastModified)))) {
    throw new TypeError(`${path}.lastModified must be a time such as 2026-11-26T09:30:00Z`);
  }
}

export function refuseUnknown(value: Record<string, unknown>, known: string[], path: string): void {
  for (const name of Object.keys(value)) {
    if (value[name] === undefined || known.includes(name)) continue;
    const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : `there are ${known.join(", ")}`;
    throw new TypeError(`${path} cannot have ${name}: ${instead}`);
  }
}

function texts(value: Record<string, unknown>, names: string[], path: string): void {
  for (const name of names) if (typeof value[name] !== "string") throw new TypeError(`${path}.${name} must be a string`);
}

function bytes(value: unknown, path: string): void {
  // `instanceof` would fail in test runners, which have several realms.
  const isBytes = Object.prototype.toString.call(value) === "[object Uint8Array]";
  if (typeof value !== "string" && !isBytes) throw new TypeError(`${path} must be a Uint8Array or a base64 string`);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
