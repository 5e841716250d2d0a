// Converts a bundle to a function: after it has run, its variables and functions are garbage unless a call can reach them.
// In a module they would live as long as the engine, including every function of every package.
import { init, parse, type StaticImport } from "es-module-lexer";

import type { Bundle } from "./bundle.js";

/** Returns the bundle as a script whose value is a promise of its one export. */
export async function asScript(bundle: Bundle): Promise<Bundle> {
  await init;
  const { code } = bundle;
  const [imports, [exported, ...others]] = parse(code);
  if (exported?.type !== "direct" || exported.localName === undefined || others.length > 0) {
    throw new Error("a bundle has one export, of a variable");
  }
  const statements = imports.filter((it): it is StaticImport => it.type === "static");
  const spans = statements.map(({ importStart, importEnd }) => ({ start: importStart, end: importEnd }));
  const exportSpan = { start: exported.exportStart, end: code.indexOf("}", exported.end) + 1 };
  return {
    ...bundle,
    // An async function may await whatever a module may await at its top level.
    code: `(async()=>{${statements.map((it) => dynamicImport(code, it)).join("")}\n${[...spans, exportSpan].reduce(blanked, code)}\nreturn ${exported.localName}})()`,
    map: withLineBefore(bundle.map),
  };
}

/** Converts an `import{a as b}from"kitbag:url"` or `import*as a from"kitbag:url"` statement to a dynamic import. */
function dynamicImport(code: string, { importStart, start, specifier }: StaticImport): string {
  const clause = code.slice(importStart + "import".length, start - 1).trim();
  const [, names, namespace] = /^(?:(\{[^}]*\})|\*\s*as\s+([\w$]+))\s*from$/.exec(clause) ?? [];
  const pattern = names?.replace(/\s+as\s+/g, ":") ?? namespace;
  if (pattern === undefined && clause !== "") throw new Error(`a bundle cannot have the import ${code.slice(importStart, start)}`);
  return `${pattern === undefined ? "" : `const ${pattern}=`}await import(${JSON.stringify(specifier)});`;
}

/** Replaces a statement with spaces, so that all positions stay the same. */
function blanked(code: string, { start, end }: { start: number; end: number }): string {
  return code.slice(0, start) + code.slice(start, end).replace(/[^\n]/g, " ") + code.slice(end);
}

function withLineBefore(json: string): string {
  const map = JSON.parse(json) as { mappings: string };
  return JSON.stringify({ ...map, mappings: `;${map.mappings}` });
}
