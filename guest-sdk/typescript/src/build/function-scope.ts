// The body of a bundle becomes that of a function: once it has run, its variables are garbage unless a call can reach
// them. Variables of a module are kept for good, and with them every function of every package.
import { init, parse } from "es-module-lexer";

import type { Bundle } from "./bundle.js";

/** Returns the bundle with its one export computed by a function; imports, which no function can have, stand before it. */
export async function inFunction(bundle: Bundle): Promise<Bundle> {
  await init;
  const { code } = bundle;
  const [imports, [exported, ...others]] = parse(code);
  if (exported?.type !== "direct" || exported.localName === undefined || others.length > 0) {
    throw new Error("a bundle exports one variable");
  }
  const statements = imports.filter(({ type }) => type === "static").map(({ importStart, importEnd }) => ({ start: importStart, end: importEnd }));
  const hoisted = statements.map(({ start, end }) => `${code.slice(start, end)};`).join("");
  const exportEnd = code.indexOf("}", exported.end) + 1;
  const body = [...statements, { start: exported.exportStart, end: exportEnd }].reduce(blanked, code);
  return {
    ...bundle,
    // An async function may await whatever a module may await at its top level.
    code: `${hoisted}export const ${exported.name}=await(async()=>{\n${body}\nreturn ${exported.localName}})();\n`,
    map: withLineBefore(bundle.map),
  };
}

/** Replaces a statement by spaces, so that everything else stays where it is. */
function blanked(code: string, { start, end }: { start: number; end: number }): string {
  return code.slice(0, start) + code.slice(start, end).replace(/[^\n]/g, " ") + code.slice(end);
}

function withLineBefore(json: string): string {
  const map = JSON.parse(json) as { mappings: string };
  return JSON.stringify({ ...map, mappings: `;${map.mappings}` });
}
