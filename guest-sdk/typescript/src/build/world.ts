import { readFile } from "node:fs/promises";
import { join } from "node:path";

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

/** How many functions those interfaces of the contract have that not every toolkit imports. */
const FUNCTIONS: { [name: string]: number } = { secrets: 1, search: 2, ingest: 1 };

/** Functions that reach nothing and that every sandbox has, one an interface. */
const HARMLESS = [
  harmless("random", "insecure", "get-insecure-random-u64: func() -> u64;"),
  harmless("random", "insecure-seed", "insecure-seed: func() -> tuple<u64, u64>;"),
  harmless("clocks", "wall-clock", "record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime;"),
  harmless("clocks", "monotonic-clock", "type duration = u64; resolution: func() -> duration;"),
];

function harmless(package_: string, interface_: string, functions: string) {
  const version = "0.2.0";
  return {
    path: `wasi:${package_}/${interface_}@${version}`,
    package: `wasi:${package_}@${version}`,
    declaration: `interface ${interface_} { ${functions} }`,
  };
}

/**
 * Returns what nobody calls, so that all components import equally many functions: from that number
 * follows where a component's globals are, and a server that compiled the JavaScript engine for one
 * toolkit has it for all that have theirs in the same places.
 */
function paddingFor(interfaces: string[]): typeof HARMLESS {
  const absent = Object.entries(FUNCTIONS).filter(([name]) => !interfaces.includes(name));
  return HARMLESS.slice(0, absent.reduce((sum, [, functions]) => sum + functions, 0));
}

/** Writes the contract with a world of these imports in the place of the one that has them all. */
export async function contract({ interfaces }: Granted): Promise<string> {
  const whole = await readFile(new URL("../../wit/toolkit.wit", import.meta.url), "utf8");
  const start = whole.search(/^world toolkit \{/m);
  const padding = paddingFor(interfaces);
  const imports = [...interfaces, ...padding.map(({ path }) => path)].map((name) => `    import ${name};\n`);
  const names = new Set(padding.map((it) => it.package));
  const packages = [...names].map((name) => {
    const declarations = padding.filter((it) => it.package === name).map((it) => it.declaration);
    return `package ${name} {\n    ${declarations.join("\n    ")}\n}\n`;
  });
  return `${whole.slice(0, start)}world ${WORLD} {\n${imports.join("")}    export tools;\n}\n${packages.join("")}`;
}

/** Writes the module that connects the author's toolkit with the imports of its component; `runtime` is a folder. */
export function entryCode(extension: string, runtime: string, manifest: Manifest, mapPlaceholder: string): string {
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
    `import ${JSON.stringify(join(runtime, "polyfills.js"))};`,
    `import toolkit from ${JSON.stringify(extension)};`,
    `import { expose } from ${JSON.stringify(join(runtime, "component.js"))};`,
    ...imports,
    `export const tools = await expose(toolkit, ${JSON.stringify(manifest)}, { ${[...bound, ...network].join(", ")} }, ${mapPlaceholder});`,
  ].join("\n");
}
