// Serializes the parts of a request as specified by OpenAPI: paths, queries, headers and bodies.
import { ToolError } from "../tool-error.js";
import type { FetchInit } from "../types.js";

/** Headers by name. Those without a value are omitted. */
export type ApiHeaders = Record<string, string | undefined>;

/** Parts of one request. Values that are `undefined` are omitted everywhere. */
export interface ApiRequest {
  /** Values of the `{names}` in the path. */
  path?: Record<string, unknown> | undefined;
  /**
   * Parameters of the query. Each item of a list and each member of an object becomes a parameter; `csv`, `spaced`,
   * `piped`, `deep` and `jsonText` select other styles.
   */
  query?: Record<string, unknown> | undefined;
  headers?: Record<string, unknown> | undefined;
  /** Body, as JSON. */
  json?: unknown;
  /** Body, as `application/x-www-form-urlencoded`; serialized like `query`. */
  form?: object | undefined;
  /** Body, as `multipart/form-data`. Objects become JSON parts; `file` makes binary parts. */
  multipart?: object | undefined;
  /** Body, as plain text. */
  text?: string | undefined;
  /** Binary body, in base64. */
  base64?: string | undefined;
  /** Media type of the body, if it differs from the default. */
  contentType?: string | undefined;
  /** Base URL, if it differs from `baseUrl`. */
  server?: string | undefined;
}

/** Returns URL and options of a request such as `"GET /pets/{id}"` below `baseUrl`, with the common headers. */
export function preparedRequest(baseUrl: string, operation: string, parts: ApiRequest, common: ApiHeaders = {}): { url: URL; init: FetchInit } {
  const [method = "", path = ""] = operation.split(" ", 2);
  const url = urlOf(parts.server ?? baseUrl, path, parts);
  const { body, contentType } = bodyOf(parts);
  const headers = headersOf({ accept: "application/json, */*;q=0.5", "content-type": contentType, ...common, ...parts.headers });
  return { url, init: { method, headers, body } };
}

/** Value of a query or form with a non-default style. */
class Written {
  constructor(readonly pairs: (name: string) => [string, string][]) {}
}

/** Serializes a list as `a,b`, and an object as `name,value,…`. */
export function csv(value: unknown): unknown {
  return delimited(value, ",");
}

/** Serializes a list as `a b`. */
export function spaced(value: unknown): unknown {
  return delimited(value, "%20");
}

/** Serializes a list as `a|b`. */
export function piped(value: unknown): unknown {
  return delimited(value, "%7C");
}

/** Serializes an object as `name[member]=…`, and a list as `name[0]=…`, on all levels. */
export function deep(value: unknown): unknown {
  const pairs = (name: string, inner: unknown): [string, string][] => {
    if (inner === undefined) return [];
    if (typeof inner !== "object" || inner === null) return [[name, encodeURIComponent(scalar(inner, name))]];
    return Object.entries(inner).flatMap(([key, it]) => pairs(`${name}[${key}]`, it));
  };
  return value === undefined ? undefined : new Written((name) => pairs(name, value));
}

/** Serializes a value as JSON. */
export function jsonText(value: unknown): unknown {
  return value === undefined ? undefined : JSON.stringify(value);
}

/** Makes a binary part of `multipart` from base64, or several parts from a list. */
export function file(base64: string | readonly string[] | undefined, name: string, type = "application/octet-stream"): unknown {
  if (base64 === undefined) return undefined;
  const parts = (typeof base64 === "string" ? [base64] : base64).map((it) => new File([decoded(it)], name, { type }));
  return typeof base64 === "string" ? parts[0] : parts;
}

/** Returns the body; `undefined` if none of its members has a value, so that no body is sent. */
export function given<T extends object>(body: T): T | undefined {
  return Object.values(body).some((value) => value !== undefined) ? body : undefined;
}

function delimited(value: unknown, delimiter: string): unknown {
  if (value === undefined) return undefined;
  return new Written((name) => {
    const items = itemsOf(value).map((item) => encodeURIComponent(scalar(item, name)));
    return items.length > 0 ? [[name, items.join(delimiter)]] : [];
  });
}

/** Returns the items of a list, or the names and values of an object in turn. */
function itemsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  if (typeof value !== "object" || value === null) return [value];
  return Object.entries(value).flatMap(([name, it]) => (it === undefined ? [] : [name, it]));
}

function scalar(value: unknown, name: string): string {
  if (typeof value === "object" && value !== null) throw new ToolError(`${name}: an object within a list or an object cannot be sent here`);
  return String(value);
}

function urlOf(base: string, template: string, { path = {}, query = {} }: ApiRequest): URL {
  const filled = template.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => pathValue(Object.hasOwn(path, name) ? path[name] : undefined, name));
  // `..` would change the path, even percent-encoded.
  const isDots = filled.split("/").some((segment) => /^(\.|%2e){1,2}$/i.test(segment));
  if (isDots) throw new ToolError(`a part of the path ${filled} is . or .., which cannot be sent`);
  const search = pairsOf(query).map(([name, value]) => `${name}=${value}`);
  return new URL(base.replace(/\/+$/, "") + filled + (search.length > 0 ? `?${search.join("&")}` : ""));
}

function pathValue(value: unknown, name: string): string {
  const text = itemsOf(value ?? []).map((item) => encodeURIComponent(scalar(item, name))).join(",");
  // An empty value would select another operation, such as the list of all items.
  if (text === "") throw new ToolError(`${name} is empty`);
  return text;
}

/** Returns the escaped names and values of a query or form. */
function pairsOf(values: object): [string, string][] {
  return Object.entries(values).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    const key = (text: string) => encodeURIComponent(text).replaceAll("%5B", "[").replaceAll("%5D", "]");
    if (value === undefined) return [];
    if (value instanceof Written) return value.pairs(name).map(([inner, text]) => [key(inner), text]);
    if (Array.isArray(value)) return value.map((item) => [key(name), encodeURIComponent(scalar(item, name))]);
    if (typeof value === "object" && value !== null) return pairsOf(value);
    return [[key(name), encodeURIComponent(String(value))]];
  });
}

function headersOf(values: Record<string, unknown>): Record<string, string> {
  const made: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const text = itemsOf(value).map((item) => scalar(item, name)).join(",");
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) throw new ToolError(`${name} has a character that a header cannot have`);
    made[name.toLowerCase()] = text;
  }
  return made;
}

function bodyOf(parts: ApiRequest): { body?: string | Uint8Array<ArrayBuffer> | FormData; contentType?: string | undefined } {
  const { json, form, multipart, text, base64, contentType } = parts;
  if (json !== undefined) return { body: JSON.stringify(json), contentType: contentType ?? "application/json" };
  if (form !== undefined) {
    const body = pairsOf(form).map(([name, value]) => `${name}=${value}`).join("&");
    return { body, contentType: contentType ?? "application/x-www-form-urlencoded" };
  }
  if (text !== undefined) return { body: text, contentType: contentType ?? "text/plain" };
  if (base64 !== undefined) return { body: decoded(base64), contentType: contentType ?? "application/octet-stream" };
  // `fetch` adds the media type with the boundary.
  return multipart === undefined ? {} : { body: formData(multipart) };
}

function formData(values: object): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(values) as [string, unknown][]) {
    for (const part of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (part === undefined) continue;
      if (part instanceof Blob) data.append(name, part);
      else if (typeof part === "object") data.append(name, new Blob([JSON.stringify(part)], { type: "application/json" }));
      else data.append(name, String(part));
    }
  }
  return data;
}

function decoded(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    throw new ToolError("the bytes are not in base64");
  }
}
