// Type-checks the toolkit with the author's TypeScript compiler, if one is installed.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { BuildFailure } from "./failure.js";
import { locate, PACKAGE } from "./package.js";
import type { Reporter } from "./reporter.js";

/** Compiler options without a tsconfig.json: strict mode, and the Web's types without the DOM. */
const DEFAULTS = {
  strict: true,
  target: "es2022",
  module: "esnext",
  moduleResolution: "bundler",
  types: [],
  skipLibCheck: true,
  esModuleInterop: true,
  resolveJsonModule: true,
};

/** Returns the type libraries that match the sandbox. TypeScript before 5.7 has none for ES2024. */
function libraries(version: string): string[] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < 5 || (major === 5 && minor < 7);
  return [isOld ? "es2023" : "es2024", "webworker", "webworker.iterable", "webworker.asynciterable"];
}

/** Throws a `BuildFailure` with the compiler's messages if there are type errors. */
export async function checkTypes(entry: string, report: Reporter): Promise<void> {
  if (!/\.[mc]?tsx?$/.test(entry)) return;
  const root = dirname(entry);
  const compiler = locate("typescript/package.json", root);
  if (compiler === undefined) {
    return report.warning("types are not checked: TypeScript is not installed (npm install --save-dev typescript)");
  }
  const directory = await realpath(await mkdtemp(join(tmpdir(), "kitbag-types-")));
  try {
    const project = join(directory, "tsconfig.json");
    const { bin, version } = createRequire(import.meta.url)(compiler) as { bin: { tsc: string }; version: string };
    await writeFile(project, JSON.stringify(configuration(entry, root, version)));
    await run(join(dirname(compiler), bin.tsc), ["-p", project, "--pretty", "false"], root);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function configuration(entry: string, root: string, version: string): object {
  const own = join(root, "tsconfig.json");
  const extended = existsSync(own);
  return {
    ...(extended && { extends: own }),
    compilerOptions: {
      ...(!extended && { ...DEFAULTS, lib: libraries(version) }),
      noEmit: true,
      composite: false,
      incremental: false,
      paths: fallbacks(root),
    },
    files: [entry],
    include: [],
  };
}

/** Returns path mappings to this SDK and its zod, for whichever of them the author has not installed. */
function fallbacks(root: string): Record<string, string[]> | undefined {
  const paths: Record<string, string[]> = {};
  const from = createRequire(`${root}/_`);
  const missing = (name: string) => {
    try {
      from.resolve(name);
      return false;
    } catch {
      return true;
    }
  };
  if (missing("kitbag/extend/toolkit")) paths["kitbag/extend/toolkit"] = [join(PACKAGE, "dist/toolkit.d.ts")];
  if (missing("zod")) {
    const library = locate("zod/package.json", PACKAGE);
    if (library !== undefined) {
      paths.zod = [dirname(library)];
      paths["zod/*"] = [join(dirname(library), "*")];
    }
  }
  return Object.keys(paths).length === 0 ? undefined : paths;
}

function run(compiler: string, args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [compiler, ...args], { cwd, maxBuffer: 16 << 20 }, (error, stdout, stderr) => {
      if (error === null) return resolve();
      const output = `${stdout}${stderr}`.trimEnd();
      reject(new BuildFailure("types", output === "" ? `the compiler failed: ${error.message}` : `the types are wrong:\n${output}`));
    });
  });
}
