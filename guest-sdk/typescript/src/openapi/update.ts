// Updates a generated toolkit to a newer document.
//
// Invariant: files of the author are never written. Edited generated files are not written either.
import { readFile, writeFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

import { readDocument } from "./document.js";
import { generate, OPERATIONS_FILE, RECORD_FILE, sha256, TESTS_FILE, type NotMade, type OpenApiRecord } from "./generate.js";
import { isRecord, member } from "./json.js";
import { DocumentError } from "./problem.js";
import { isUrl, openSource } from "./source.js";

export interface UpdateOptions {
  /** Location of the newer document, if it has changed. */
  document?: string | undefined;
  /** Whether to write the generated files; otherwise only reports the changes. */
  write: boolean;
}

export interface Update {
  /** Whether the document is unchanged since the last generation. */
  isSame: boolean;
  added: { tool: string; constant: string; operation: string }[];
  changed: { tool: string; operation: string }[];
  removed: { tool: string; operation: string }[];
  notMade: NotMade[];
  notes: string[];
  written: string[];
}

/** Compares a toolkit with its document, and updates the generated files if `write` is set. */
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

/** Returns the toolkit's id as declared in its source. */
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
