import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { Manifest } from "../manifest.js";
import { PACKAGE } from "./package.js";

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

/** The contract that travels with the package. */
export interface Contract {
  text: string;
  version: string;
  /** What its world imports: how many functions each interface has. */
  functions: { [name: string]: number };
}

/** Reads the contract. */
export async function readContract(): Promise<Contract> {
  return contractOf(await readFile(join(PACKAGE, "wit/toolkit.wit"), "utf8"));
}

/** Finds in a contract what a component's world is made of. */
export function contractOf(text: string): Contract {
  const version = /^package kitbag:toolkit@([^;]+);/m.exec(text)?.[1];
  const world = /^world toolkit \{\n([^]*?)^\}/m.exec(text)?.[1];
  if (version === undefined || world === undefined) throw new Error("wit/toolkit.wit is not the contract of a toolkit");
  const functions: { [name: string]: number } = {};
  for (const [, name] of world.matchAll(/^ *import ([\w-]+);/gm)) {
    const body = new RegExp(`^interface ${name} \\{\\n([^]*?)^\\}`, "m").exec(text)?.[1] ?? "";
    functions[name!] = [...body.matchAll(/: func\(/g)].length;
  }
  return { text, version, functions };
}

/** Functions that reach nothing and that every sandbox has, one an interface. */
const PADDING = [
  padding("random", "insecure", "get-insecure-random-u64: func() -> u64;"),
  padding("random", "insecure-seed", "insecure-seed: func() -> tuple<u64, u64>;"),
  padding("clocks", "wall-clock", "record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime;"),
  padding("clocks", "monotonic-clock", "type duration = u64; resolution: func() -> duration;"),
];

function padding(package_: string, interface_: string, functions: string) {
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
function paddingFor({ functions }: Contract, interfaces: string[]): typeof PADDING {
  const absent = Object.entries(functions).filter(([name]) => !interfaces.includes(name));
  const count = absent.reduce((sum, [, own]) => sum + own, 0);
  if (count > PADDING.length) {
    throw new Error(`a component without ${absent.map(([name]) => name).join(", ")} needs ${count} padding functions, and build/world.ts has ${PADDING.length}: add to PADDING there`);
  }
  return PADDING.slice(0, count);
}

/** Writes the contract with a world of these imports in the place of the one that has them all. */
export function sandboxedWorld(contract: Contract, { interfaces }: Granted): string {
  const start = contract.text.search(/^world toolkit \{/m);
  const unused = paddingFor(contract, interfaces);
  const imports = [...interfaces, ...unused.map(({ path }) => path)].map((name) => `    import ${name};\n`);
  const names = new Set(unused.map((it) => it.package));
  const packages = [...names].map((name) => {
    const declarations = unused.filter((it) => it.package === name).map((it) => it.declaration);
    return `package ${name} {\n    ${declarations.join("\n    ")}\n}\n`;
  });
  return `${contract.text.slice(0, start)}world ${WORLD} {\n${imports.join("")}    export tools;\n}\n${packages.join("")}`;
}

/** Writes the module that connects the author's toolkit with the imports of its component. */
export function entryCode(extension: string, { version }: Contract, manifest: Manifest, mapPlaceholder: string): string {
  const runtime = join(PACKAGE, "dist/sandbox");
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
    return `import { ${names.join(", ")} } from "kitbag:toolkit/${name}@${version}";`;
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
