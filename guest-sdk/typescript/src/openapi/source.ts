// Reads a document and the files that it refers to.
//
// Invariants: a document from a file may refer only to files in its own folder and below, never to the network. A document
// from a URL may refer only to URLs of the same origin, never to files. The number and size of files are limited.
import { readFile, realpath, stat } from "node:fs/promises";
import { dirname, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { DocumentError } from "./problem.js";

/** Maximum size of one file, in bytes. */
export const MAX_FILE_BYTES = 32 << 20;
/** Maximum total size of a document's files, in bytes. */
export const MAX_TOTAL_BYTES = 64 << 20;
/** Maximum number of a document's files. DigitalOcean's has 1,900. */
export const MAX_FILES = 4000;
/** Time limit for downloading one file. */
const FETCH_TIMEOUT_MS = 30_000;

/** File of a document. */
export interface SourceFile {
  /** `file:` or `https:` URL of the file. */
  url: string;
  text: string;
}

/** Reads the files of one document. */
export interface Source {
  /** URL of the document itself. */
  readonly root: string;
  /** Reads a file. Rejects with a `DocumentError` if it cannot or must not be read. */
  read(url: string): Promise<SourceFile>;
}

/** Returns the reader for a document at a path or a URL. */
export async function openSource(location: string): Promise<Source> {
  const source = isUrl(location) ? webSource(location) : await folderSource(location);
  return limited(source);
}

/** Whether a document's location is a URL, not a path. */
export function isUrl(location: string): boolean {
  return /^https?:\/\//i.test(location);
}

async function folderSource(path: string): Promise<Source> {
  let file: string;
  try {
    file = await realpath(resolve(path));
  } catch {
    throw new DocumentError(`there is no file ${path}`);
  }
  const folder = dirname(file);
  return {
    root: pathToFileURL(file).href,
    read: async (url) => {
      if (!url.startsWith("file://")) throw new DocumentError(`a document in a file reads no other address: ${url}`);
      const target = await realPathOf(url);
      const isInside = target.startsWith(folder.endsWith(sep) ? folder : folder + sep);
      if (!isInside) throw new DocumentError(`a document reads only files of its own folder and below: ${url}`);
      const { size } = await stat(target);
      if (size > MAX_FILE_BYTES) throw tooLarge(url);
      return { url, text: await readFile(target, "utf8") };
    },
  };
}

/** Resolves symbolic links, which may lead out of the folder. */
async function realPathOf(url: string): Promise<string> {
  try {
    return await realpath(fileURLToPath(url));
  } catch {
    throw new DocumentError(`a file that the document refers to is missing: ${url}`);
  }
}

function webSource(location: string): Source {
  const root = new URL(location);
  root.hash = "";
  return {
    root: root.href,
    read: async (url) => {
      if (new URL(url).origin !== root.origin) throw new DocumentError(`a document reads only addresses of its own origin: ${url}`);
      // A redirect could lead to another origin.
      const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) }).catch((error: unknown) => {
        const reason = (error as { cause?: { message?: string } }).cause?.message ?? (error as Error).message;
        throw new DocumentError(`could not read ${url}: ${reason}`);
      });
      const target = response.headers.get("location");
      if (target !== null) throw new DocumentError(`${url} redirects to ${target}: name that address`);
      if (!response.ok) throw new DocumentError(`could not read ${url}: HTTP status ${response.status}`);
      return { url, text: await textOf(response, url) };
    },
  };
}

async function textOf(response: Response, url: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += (part as Uint8Array).length;
    if (size > MAX_FILE_BYTES) throw tooLarge(url);
    parts.push(part as Uint8Array);
  }
  return Buffer.concat(parts).toString("utf8");
}

function limited(source: Source): Source {
  let [files, bytes] = [0, 0];
  return {
    root: source.root,
    read: async (url) => {
      if (++files > MAX_FILES) throw new DocumentError(`the document has more than ${MAX_FILES} files`);
      const file = await source.read(url);
      bytes += file.text.length;
      if (bytes > MAX_TOTAL_BYTES) throw new DocumentError(`the files of the document have more than ${MAX_TOTAL_BYTES >> 20} MiB`);
      return file;
    },
  };
}

function tooLarge(url: string): DocumentError {
  return new DocumentError(`a file of the document has more than ${MAX_FILE_BYTES >> 20} MiB: ${url}`);
}
