// What a newer document changes in a toolkit that was made from one.
//
// Invariant: files of the author are never written. Generated files that were edited are not written either.
import { readFile, writeFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

import { readDocument } from "./document.js";
import { generate, OPERATIONS_FILE, RECORD_FILE, sha256, TESTS_FILE, type NotMade, type OpenApiRecord } from "./generate.js";
import { isRecord, member } from "./json.js";
import { DocumentError } from "./problem.js";
import { isUrl, openSource } from "./source.js";

export interface UpdateOptions {
  /** The newer document, if it is elsewhere. */
  document?: string | undefined;
  /** Writes the generated files; otherwise only shows what would change. */
  write: boolean;
}

export interface Update {
  /** The document has not changed since. */
  isSame: boolean;
  added: { tool: string; constant: string; operation: string }[];
  changed: { tool: string; operation: string }[];
  removed: { tool: string; operation: string }[];
  notMade: NotMade[];
  notes: string[];
  written: string[];
}

/** Compares a toolkit with the document that it was made from, and updates its generated files if asked to. */
export async function update(folder: string, options: UpdateOptions): Promise<Update> {
  const record = await readRecord(folder);
  const named = options.document ?? record.document;
  const location = isUrl(named) || isAbsolute(named) || options.document !== undefined ? named : join(folder, named);
  const document = await readDocument(await openSource(location));
  const id = await toolkitId(folder);
  const generated = generate(document, { id, location: record.document, only: record.only, server: record.server });
  const next = JSON.parse(generated.files.find((it) => it.name === RECORD_FILE)!.text) as OpenApiRecord;

  const added = generated.tools.filter((it) => !Object.hasOwn(record.tools, it.tool)).map(({ tool, constant, operation }) => ({ tool, constant, operation }));
  const removed = Object.entries(record.tools).flatMap(([tool, { operation }]) => (Object.hasOwn(next.tools, tool) ? [] : [{ tool, operation }]));
  const changed = Object.entries(next.tools).flatMap(([tool, { operation, digest }]) => {
    const before = Object.hasOwn(record.tools, tool) ? record.tools[tool] : undefined;
    return before === undefined || before.digest === digest ? [] : [{ tool, operation }];
  });
  const written: string[] = [];
  if (options.write) {
    await refuseEdited(folder, record);
    for (const name of [OPERATIONS_FILE, TESTS_FILE, RECORD_FILE]) {
      await writeFile(join(folder, name), generated.files.find((it) => it.name === name)!.text);
      written.push(name);
    }
  }
  return { isSame: record.digest === next.digest, added, changed, removed, notMade: generated.notMade, notes: generated.notes, written };
}

async function readRecord(folder: string): Promise<OpenApiRecord> {
  const path = join(folder, RECORD_FILE);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch {
    throw new DocumentError(`${path} is missing or no JSON: only a toolkit that was made with --openapi can be updated`);
  }
  const isValid = typeof member(value, "document") === "string" && Array.isArray(member(value, "only")) && isRecord(member(value, "tools")) && isRecord(member(value, "files"));
  if (!isValid) throw new DocumentError(`${path} was not written by kitbag`);
  return value as OpenApiRecord;
}

/** Returns the id of the toolkit, as its source declares it. */
async function toolkitId(folder: string): Promise<string> {
  const source = await readFile(join(folder, "extension.ts"), "utf8").catch(() => "");
  const id = /^\s*id: "([a-z0-9-]+)"/m.exec(source)?.[1];
  if (id === undefined) throw new DocumentError(`${join(folder, "extension.ts")} has no line with the id of the toolkit`);
  return id;
}

async function refuseEdited(folder: string, record: OpenApiRecord): Promise<void> {
  for (const [name, digest] of Object.entries(record.files)) {
    if (name !== OPERATIONS_FILE && name !== TESTS_FILE) continue;
    const text = await readFile(join(folder, name), "utf8").catch(() => undefined);
    if (text === undefined || sha256(text) === digest) continue;
    throw new DocumentError(
      `${name} was edited since it was generated, and would be overwritten: move your changes into extension.ts, ` +
        `or delete ${name} to have it made anew`,
    );
  }
}
