import { readFile } from "node:fs/promises";

import type { Manifest } from "../manifest.js";

const VERSION = "0.1.0";

/** The world of a component that may do what the manifest declares, and no more. */
export const WORLD = "sandboxed";

/** What a declaration grants, in the contract's words. */
export interface Granted {
  /** Interfaces of the contract. */
  interfaces: string[];
  /** Whether `wasi:http/outgoing-handler` is one of the imports. */
  http: boolean;
}

/** Returns what a component of this manifest imports. */
export function granted({ secrets, egress, scopes }: Manifest): Granted {
  const interfaces = ["log", "progress"];
  if (secrets.length > 0) interfaces.push("secrets");
  if (scopes.includes("svc:search")) interfaces.push("search");
  if (scopes.includes("svc:ingest")) interfaces.push("ingest");
  return { interfaces, http: egress.length > 0 };
}

/** Writes the contract with a world of these imports in the place of the one that has them all. */
export async function contract({ interfaces }: Granted): Promise<string> {
  const whole = await readFile(new URL("../../wit/toolkit.wit", import.meta.url), "utf8");
  const start = whole.search(/^world toolkit \{/m);
  const imports = interfaces.map((name) => `    import ${name};\n`);
  return `${whole.slice(0, start)}world ${WORLD} {\n${imports.join("")}    export tools;\n}\n`;
}

/** Writes the module that connects the author's toolkit with the imports of its component. */
export function entryCode(extension: string, component: string, manifest: Manifest, mapPlaceholder: string): string {
  const { interfaces, http } = granted(manifest);
  const wanted: Record<string, [function_: string, as: string][]> = {
    log: [["write", "log"]],
    progress: [["report", "progress"]],
    secrets: [["get", "secret"]],
    search: [["search", "search"], ["getDocument", "getDocument"]],
    ingest: [["ingest", "ingest"]],
  };
  const imports = interfaces.map((name) => {
    const names = wanted[name]!.map(([function_, as]) => (function_ === as ? as : `${function_} as ${as}`));
    return `import { ${names.join(", ")} } from "kitbag:toolkit/${name}@${VERSION}";`;
  });
  const bound = interfaces.flatMap((name) => wanted[name]!.map(([, as]) => as));
  const network = http ? ["fetch: (input, init) => fetch(input, init)"] : [];
  return [
    `import toolkit from ${JSON.stringify(extension)};`,
    `import { expose } from ${JSON.stringify(component)};`,
    ...imports,
    `export const tools = await expose(toolkit, ${JSON.stringify(manifest)}, { ${[...bound, ...network].join(", ")} }, ${mapPlaceholder});`,
  ].join("\n");
}
