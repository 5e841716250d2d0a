// `kitbag.js openapi new|list|update`: what the program's `kitbag toolkit new --openapi` and `kitbag toolkit update-openapi` run.
// The result is one JSON object on standard output.
import { relative, resolve } from "node:path";
import { parseArgs } from "node:util";

import { readDocument } from "./document.js";
import { generate, list } from "./generate.js";
import { DocumentError } from "./problem.js";
import { isUrl, openSource } from "./source.js";
import { update } from "./update.js";

const USAGE = `Make tools from an OpenAPI document: what \`kitbag toolkit new --openapi\` runs

Usage: kitbag.js openapi new ID DOCUMENT [--only WORD]... [--api-url URL] [--directory DIR]
       kitbag.js openapi list DOCUMENT [--only WORD]...
       kitbag.js openapi update FOLDER [--document FILE|URL] [--write]
`;

/** Runs the command line and returns the exit code. */
export async function main(args: string[]): Promise<number> {
  let parsed;
  try {
    parsed = parseArgs({
      args,
      allowPositionals: true,
      options: {
        only: { type: "string", multiple: true },
        "api-url": { type: "string" },
        document: { type: "string" },
        directory: { type: "string" },
        write: { type: "boolean" },
      },
    });
  } catch (error) {
    return fail("usage", `${(error as Error).message}\n\n${USAGE}`);
  }
  const { values, positionals } = parsed;
  const [command, ...operands] = positionals;
  const only = values.only ?? [];
  try {
    if (command === "new" && operands.length === 2) {
      const [id, location] = operands as [string, string];
      const document = await readDocument(await openSource(location));
      const recorded = isUrl(location) || values.directory === undefined ? location : relative(resolve(values.directory), resolve(location));
      return done(generate(document, { id, location: recorded, only, server: values["api-url"] }));
    }
    if (command === "list" && operands.length === 1) return done(list(await readDocument(await openSource(operands[0]!)), only));
    if (command === "update" && operands.length === 1) {
      return done(await update(operands[0]!, { document: values.document, write: values.write === true }));
    }
    return fail("usage", USAGE);
  } catch (error) {
    if (error instanceof DocumentError) return fail("document", error.message);
    // The stack of an unexpected error is for a report.
    return fail("toolchain", (error as Error).stack ?? String(error));
  }
}

function done(result: object): number {
  console.log(JSON.stringify({ event: "done", ...result }));
  return 0;
}

function fail(kind: "usage" | "document" | "toolchain", message: string): number {
  console.log(JSON.stringify({ event: "failed", kind, message }));
  return { usage: 2, document: 1, toolchain: 3 }[kind];
}
