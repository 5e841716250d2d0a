// Environment of calls: credentials from a file, settings from the command line.
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";

import { credentialsOf, signInsOf } from "../auth.js";
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

/** Converts settings to their declared types. `problems` describes the settings that are ignored. */
export function typedSettings({ config: fields }: Manifest, texts: Record<string, string>): { config: Record<string, unknown>; problems: string[] } {
  const given = Object.entries(texts).map(([key, text]) => [key, Object.hasOwn(fields, key) ? parsedValue(fields[key]!.type, text) : text] as const);
  const { problems } = settingsOf(fields, Object.fromEntries(given));
  return {
    config: Object.fromEntries(given.filter(([key]) => !Object.hasOwn(problems, key))),
    problems: Object.entries(problems).map(([key, why]) => `setting ${key}: ${why}`),
  };
}

/** Name of the connected account's access token in the file of credentials. */
export const ACCOUNT = "KITBAG_ACCOUNT";

/** Returns the credentials that calls use: those named in `secrets` and in `auth`. */
export function usedSecrets(manifest: Manifest, values: Record<string, string>): Record<string, string> {
  const names = credentialsOf(manifest);
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}

/** Returns the access token that stands for the connected account, if the toolkit uses one. */
export function accountOf(manifest: Manifest, values: Record<string, string>): string | undefined {
  return usesAccount(manifest) ? values[ACCOUNT] : undefined;
}

/** Returns notes on credentials that the toolkit does not use, and on those that are not set. */
export function secretNotes(manifest: Manifest, values: Record<string, string>): string[] {
  const account = usesAccount(manifest) ? [ACCOUNT] : [];
  const used = [...credentialsOf(manifest).filter((name) => needsValue(manifest, name)), ...account];
  const known = [...credentialsOf(manifest), ...account];
  const missing = (name: string) => (name === ACCOUNT ? `account: not connected; --env-file takes a line ${ACCOUNT}=<access token>` : `credential ${name}: not set; --env-file takes a file of lines ${name}=value`);
  return [
    ...Object.keys(values).filter((name) => !known.includes(name)).map((name) => `credential ${name}: the toolkit does not declare it, and does not get it`),
    ...used.filter((name) => values[name] === undefined).map(missing),
  ];
}

function usesAccount(manifest: Manifest): boolean {
  return signInsOf(manifest).some(({ type }) => type === "oauth2_authorization_code");
}

/** Whether calls use a credential here. OAuth client credentials are for connecting an account, which only a server does. */
function needsValue({ secrets, auth }: Manifest, name: string): boolean {
  const attached = signInsOf({ auth }).filter(({ type }) => type !== "oauth2_authorization_code");
  return credentialsOf({ secrets, auth: attached }).includes(name);
}

/** Parses a setting's value. Invalid text stays a string, which is then reported as a mismatch. */
function parsedValue(type: string, text: string): unknown {
  if (type === "number") return text.trim() === "" || !Number.isFinite(Number(text)) ? text : Number(text);
  if (type === "boolean") return { true: true, false: false }[text] ?? text;
  return text;
}
