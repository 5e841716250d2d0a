// The environment of calls: credentials from a file, settings from the command line.
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";

import { BuildFailure } from "../build/failure.js";
import type { Manifest } from "../manifest.js";
import { settingsOf } from "../rules.js";

/** Reads a file with lines NAME=value; throws a `BuildFailure` if it cannot be read. */
export async function readSecrets(file: string | undefined): Promise<Record<string, string>> {
  if (file === undefined) return {};
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new BuildFailure("usage", `cannot read the file of credentials: ${error.message}`);
  });
  return parseEnv(text) as Record<string, string>;
}

/** Parses `key=value` pairs; throws a `BuildFailure` for any other text. */
export function readSettings(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new BuildFailure("usage", `--config takes key=value, and not ${JSON.stringify(pair)}`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  }));
}

/** Converts settings to their declared types. `problems` describes those that calls do not receive. */
export function typedSettings({ config: fields }: Manifest, texts: Record<string, string>): { config: Record<string, unknown>; problems: string[] } {
  const given = Object.entries(texts).map(([key, text]) => [key, Object.hasOwn(fields, key) ? parsedValue(fields[key]!.type, text) : text] as const);
  const { problems } = settingsOf(fields, Object.fromEntries(given));
  return {
    config: Object.fromEntries(given.filter(([key]) => !Object.hasOwn(problems, key))),
    problems: Object.entries(problems).map(([key, why]) => `setting ${key}: ${why}`),
  };
}

/** Returns notes on credentials that the toolkit does not declare, and on declared ones that are not set. */
export function secretNotes({ secrets }: Manifest, values: Record<string, string>): string[] {
  return [
    ...Object.keys(values).filter((name) => !secrets.includes(name)).map((name) => `credential ${name}: the toolkit does not declare it, and does not get it`),
    ...secrets.filter((name) => values[name] === undefined).map((name) => `credential ${name}: not set; --env-file takes a file of lines ${name}=value`),
  ];
}

/** Parses a value. Invalid text stays a string, which is then reported as not fitting. */
function parsedValue(type: string, text: string): unknown {
  if (type === "number") return text.trim() === "" || !Number.isFinite(Number(text)) ? text : Number(text);
  if (type === "boolean") return { true: true, false: false }[text] ?? text;
  return text;
}
