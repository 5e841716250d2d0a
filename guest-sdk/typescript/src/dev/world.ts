// What calls find around them: credentials from a file, settings from the command line.
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";

import { BuildFailure } from "../build/failure.js";
import type { Manifest } from "../manifest.js";
import { settingsOf } from "../rules.js";

/** Reads lines of NAME=value. */
export async function readSecrets(file: string | undefined): Promise<Record<string, string>> {
  if (file === undefined) return {};
  const text = await readFile(file, "utf8").catch((error: Error) => {
    throw new BuildFailure("usage", `cannot read the file of credentials: ${error.message}`);
  });
  return parseEnv(text) as Record<string, string>;
}

/** Takes key=value apart. */
export function readSettings(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new BuildFailure("usage", `--config takes key=value, and not ${JSON.stringify(pair)}`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  }));
}

/** Gives settings the types that the manifest declares; `problems` says which ones calls do not get. */
export function typedSettings({ config: fields }: Manifest, texts: Record<string, string>): { config: Record<string, unknown>; problems: string[] } {
  const given = Object.entries(texts).map(([key, text]) => [key, Object.hasOwn(fields, key) ? typed(fields[key]!.type, text) : text] as const);
  const { problems } = settingsOf(fields, Object.fromEntries(given));
  return {
    config: Object.fromEntries(given.filter(([key]) => !Object.hasOwn(problems, key))),
    problems: Object.entries(problems).map(([key, why]) => `setting ${key}: ${why}`),
  };
}

/** Names in the file that the toolkit does not get, and names that it would like to. */
export function secretNotes({ secrets }: Manifest, values: Record<string, string>): string[] {
  return [
    ...Object.keys(values).filter((name) => !secrets.includes(name)).map((name) => `credential ${name}: the toolkit does not declare it, and does not get it`),
    ...secrets.filter((name) => values[name] === undefined).map((name) => `credential ${name}: not set; --env-file takes a file of lines ${name}=value`),
  ];
}

/** What is no number and no truth value stays a text, which does not fit. */
function typed(type: string, text: string): unknown {
  if (type === "number") return text.trim() === "" || !Number.isFinite(Number(text)) ? text : Number(text);
  if (type === "boolean") return { true: true, false: false }[text] ?? text;
  return text;
}
