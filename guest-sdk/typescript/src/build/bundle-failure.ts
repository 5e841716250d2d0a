// Explains errors of esbuild.
import { basename, dirname, extname, relative } from "node:path";

import type { BuildFailure as EsbuildFailure, Message, Metafile } from "esbuild";

import { BuildFailure } from "./failure.js";
import { importChain, nodeOnlyMessage, packageOf } from "./node-modules.js";

/** Maximum number of errors shown for the author's own files; for packages only the first is shown. */
const MAX_OWN_ERRORS = 10;
/** Maximum number of packages named whose errors are not shown. */
const MAX_PACKAGES = 5;

/** Advice for files that esbuild has no loader for, by extension. */
const FILES: Record<string, string> = {
  ".node": "an addon of Node.js cannot be in a toolkit: find a package that runs in browsers",
  ".wasm": "WebAssembly is not there in the sandbox: find a package in JavaScript",
};
const TEXT_FILE = "put its text into a module (export default `…`), or what it says into a .json file, and import that";

/** Returns the failure for the author. `imports` is the import graph, if there is one. */
export function bundleFailure(error: unknown, entry: string, imports: Metafile | undefined): BuildFailure {
  const { errors } = error as EsbuildFailure;
  if (!Array.isArray(errors)) throw error;
  const inPackage = ({ location }: Message) => location?.file.includes("node_modules/") === true;
  const [own, ofPackages] = [errors.filter((it) => !inPackage(it)), errors.filter(inPackage)];
  const shown = [...own.slice(0, MAX_OWN_ERRORS), ...ofPackages.slice(0, 1)].map((message) => errorText(message, entry, imports));
  if (own.length > MAX_OWN_ERRORS) shown.push(`${own.length - MAX_OWN_ERRORS} more errors are not shown`);
  if (ofPackages.length > 1) shown.push(restOfPackages(ofPackages.slice(1)));
  return new BuildFailure("source", shown.join("\n"));
}

function restOfPackages(errors: readonly Message[]): string {
  const names = [...new Set(errors.map(({ location }) => packageOf(location!.file)))];
  const more = names.length > MAX_PACKAGES ? ` and ${names.length - MAX_PACKAGES} more` : "";
  return `${errors.length} more imports of packages fail, in ${names.slice(0, MAX_PACKAGES).map((name) => JSON.stringify(name)).join(", ")}${more}`;
}

function errorText(message: Message, entry: string, imports: Metafile | undefined): string {
  const { location, notes } = message;
  const text = nodeOnlyMessage(message, dirname(entry)) ?? fileMessage(message) ?? message.text;
  if (text.startsWith("No matching export") && text.includes('import "default"') && location?.file === "kitbag:entry") {
    return noDefaultExport(relative(dirname(entry), entry));
  }
  if (text.startsWith("Could not resolve") && location?.file === "kitbag:entry") return `there is no ${basename(entry)} in this folder`;
  const where = location === null || location.file === "kitbag:entry" ? "" : `${location.file}:${location.line}:${location.column + 1}: `;
  const missing = /^Could not resolve "((?:@[a-z0-9~-][^/"]*\/)?[a-z0-9~-][^/"]*)/.exec(text);
  const hints = text === message.text ? notes.map((note) => note.text) : [];
  if (missing !== null) hints.splice(0, hints.length, `It is not installed: npm install ${missing[1]}`);
  const chain = location === null || imports === undefined ? undefined : importChain(location.file, imports);
  return [where + text, ...hints, chain ?? ""].filter((part) => part !== "").join("\n  ");
}

/** Returns a better text for the import of an unsupported file type; `undefined` for any other error. */
function fileMessage({ text }: Message): string | undefined {
  const [, file] = /^No loader is configured for "[^"]*" files: (.+)$/.exec(text) ?? [];
  if (file === undefined) return undefined;
  const extension = extname(file);
  const advice = Object.hasOwn(FILES, extension) ? FILES[extension] : TEXT_FILE;
  return `${basename(file)} cannot be imported: ${advice}`;
}

/** Returns the error text for an entry file without a default export. */
export function noDefaultExport(name: string): string {
  return `${name} has no default export: end it with \`export default defineToolkit({ … })\``;
}
