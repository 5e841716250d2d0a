// FormData (XMLHttpRequest Standard, section 5), and forms as bodies: multipart/form-data (RFC 7578, as in
// HTML).
import { decode, encode, find } from "kitbag:encoding";
import { randomBytes } from "kitbag:host";
import { parseQuery } from "kitbag:url";

import { Blob, blobBytes, blobOf, File, concatenated } from "./blob.js";
import { pairIterators } from "./iterators.js";

export type FormValue = string | File;

const iterator = pairIterators("FormData");

export class FormData {
  #entries: [string, FormValue][] = [];

  constructor(form?: undefined) {
    if (form !== undefined) throw new TypeError("FormData: there are no form elements here");
  }

  append(name: string, value: string | Blob, filename?: string): void {
    if (arguments.length < 2) throw new TypeError("FormData.append: 2 arguments required");
    this.#entries.push(entry(name, value, filename, arguments.length > 2));
  }

  delete(name: string): void {
    const wanted = `${name}`.toWellFormed();
    this.#entries = this.#entries.filter(([other]) => other !== wanted);
  }

  get(name: string): FormValue | null {
    const wanted = `${name}`.toWellFormed();
    return this.#entries.find(([other]) => other === wanted)?.[1] ?? null;
  }

  getAll(name: string): FormValue[] {
    const wanted = `${name}`.toWellFormed();
    return this.#entries.filter(([other]) => other === wanted).map(([, value]) => value);
  }

  has(name: string): boolean {
    const wanted = `${name}`.toWellFormed();
    return this.#entries.some(([other]) => other === wanted);
  }

  set(name: string, value: string | Blob, filename?: string): void {
    if (arguments.length < 2) throw new TypeError("FormData.set: 2 arguments required");
    const made = entry(name, value, filename, arguments.length > 2);
    const first = this.#entries.findIndex(([other]) => other === made[0]);
    if (first === -1) this.#entries.push(made);
    else this.#entries = this.#entries.flatMap((it, at) => (at === first ? [made] : it[0] === made[0] ? [] : [it]));
  }

  forEach(callback: (value: FormValue, name: string, form: FormData) => void, thisArg?: unknown): void {
    if (typeof callback !== "function") throw new TypeError("FormData.forEach: the callback is not a function");
    for (const [name, value] of this) callback.call(thisArg, value, name, this);
  }

  entries(): IterableIterator<[string, FormValue]> {
    return iterator((at) => this.#entries[at], "entries");
  }

  keys(): IterableIterator<string> {
    return iterator((at) => this.#entries[at], "keys");
  }

  values(): IterableIterator<FormValue> {
    return iterator((at) => this.#entries[at], "values");
  }

  declare [Symbol.iterator]: () => IterableIterator<[string, FormValue]>;
}

Object.defineProperty(FormData.prototype, Symbol.iterator, {
  value: FormData.prototype.entries,
  writable: true,
  configurable: true,
});

function entry(name: string, value: unknown, filename: string | undefined, named: boolean): [string, FormValue] {
  const key = `${name}`.toWellFormed();
  if (!(value instanceof Blob)) {
    if (named) throw new TypeError("FormData: only a Blob has a file name");
    return [key, `${value as string}`.toWellFormed()];
  }
  if (value instanceof File && !named) return [key, value];
  return [key, new File([value], named ? `${filename}` : "blob", { type: value.type })];
}

/** Encodes a form as multipart/form-data. */
export function encodeMultipart(form: FormData): { bytes: Uint8Array<ArrayBuffer>; type: string } {
  const random = Array.from(new Uint8Array(randomBytes(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const boundary = `----kitbag-form-${random}`;
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(crlf(name))}"`;
    if (typeof value === "string") {
      pieces.push(encode(`${head}\r\n\r\n${crlf(value)}\r\n`));
    } else {
      const type = value.type || "application/octet-stream";
      pieces.push(encode(`${head}; filename="${escaped(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`));
      pieces.push(blobBytes(value), encode("\r\n"));
    }
  }
  pieces.push(encode(`--${boundary}--\r\n`));
  return { bytes: concatenated(pieces), type: `multipart/form-data; boundary=${boundary}` };
}

/** Decodes a form by its content type; throws a TypeError for other content types and malformed bodies. */
export function decodeForm(bytes: Uint8Array<ArrayBuffer>, contentType: string): FormData {
  const [essence] = contentType.split(";", 1) as [string];
  const form = new FormData();
  switch (essence.trim().toLowerCase()) {
    case "application/x-www-form-urlencoded": {
      const pairs = parseQuery(decode(bytes, false, false));
      for (let at = 0; at < pairs.length; at += 2) form.append(pairs[at]!, pairs[at + 1]!);
      return form;
    }
    case "multipart/form-data": {
      const boundary = /;\s*boundary=(?:"([^"]*)"|([^;\s]+))/i.exec(contentType);
      if (boundary === null) throw malformed("the content type has no boundary");
      decodeMultipart(bytes, boundary[1] ?? boundary[2]!, form);
      return form;
    }
    default:
      throw new TypeError("formData: the content type is neither multipart/form-data nor application/x-www-form-urlencoded");
  }
}

const CRLF = Uint8Array.of(13, 10);
const BLANK_LINE = Uint8Array.of(13, 10, 13, 10);

function decodeMultipart(bytes: Uint8Array<ArrayBuffer>, boundary: string, form: FormData): void {
  const first = encode(`--${boundary}`);
  const next = encode(`\r\n--${boundary}`);
  let at = find(bytes, first, 0);
  if (at === -1) throw malformed("the boundary is missing");
  at += first.length;
  for (;;) {
    if (bytes[at] === 0x2d && bytes[at + 1] === 0x2d) return;
    const lineEnd = find(bytes, CRLF, at);
    // Searched from the boundary's own line end on: a part without headers starts with a blank line.
    const headEnd = find(bytes, BLANK_LINE, at);
    const end = headEnd === -1 ? -1 : find(bytes, next, headEnd + 2);
    if (lineEnd === -1 || headEnd === -1 || end === -1) throw malformed("a part has no end");
    const head = decode(bytes.subarray(lineEnd, headEnd), false, true);
    addPart(form, head, bytes.subarray(Math.min(headEnd + 4, end), end));
    at = end + next.length;
  }
}

function addPart(form: FormData, head: string, content: Uint8Array<ArrayBuffer>): void {
  const disposition = /\r\ncontent-disposition:\s*form-data\s*(;[^\r\n]*)/i.exec(head)?.[1];
  const name = disposition === undefined ? undefined : parameter(disposition, "name");
  if (name === undefined) throw malformed("a part has no name");
  const filename = parameter(disposition!, "filename");
  if (filename === undefined) return form.append(name, decode(content, false, false));
  const type = /\r\ncontent-type:[ \t]*([^\r\n]*)/i.exec(head)?.[1]?.trim() ?? "text/plain";
  form.append(name, blobOf(content.slice(), type), filename);
}

function parameter(disposition: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}="([^"]*)"|;\\s*${name}=([^";\\s]+)`, "i").exec(disposition);
  const value = match?.[1] ?? match?.[2];
  return value?.replace(/%0a/gi, "\n").replace(/%0d/gi, "\r").replace(/%22/g, '"');
}

function malformed(what: string): TypeError {
  return new TypeError(`formData: the body is malformed: ${what}`);
}

function crlf(text: string): string {
  return text.replace(/\r\n?|\n/g, "\r\n");
}

function escaped(name: string): string {
  return name.replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/"/g, "%22");
}
