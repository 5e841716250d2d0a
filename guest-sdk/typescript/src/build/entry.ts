import { join } from "node:path";

import { PACKAGE } from "./package.js";

/** Stands for the source map, which exists once the bundle does. */
const MAP_PLACEHOLDER = '"kitbag:source-map"';

/** Returns the module that a component's bundle starts from: it connects the author's toolkit with the engine. */
export function entryCode(extension: string): string {
  const sandbox = join(PACKAGE, "dist/sandbox");
  return [
    `import ${JSON.stringify(join(sandbox, "web/install.js"))};`,
    `import toolkit from ${JSON.stringify(extension)};`,
    `import { callable } from ${JSON.stringify(join(sandbox, "component.js"))};`,
    `export const call = callable(toolkit, ${MAP_PLACEHOLDER});`,
  ].join("\n");
}

/** Puts the source map into its place in the bundle. */
export function withMap(code: string, map: object): string {
  const at = code.lastIndexOf(MAP_PLACEHOLDER);
  return code.slice(0, at) + JSON.stringify(map) + code.slice(at + MAP_PLACEHOLDER.length);
}
