// Detects file changes by polling, which works on every file system and takes a millisecond for a few hundred
// files.
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

const POLL_INTERVAL_MS = 250;
const SOURCE_FILE = /\.(?:[mc]?[jt]sx?|json)$/;
const IGNORED_FOLDERS = new Set(["node_modules", "dist"]);
const MAX_FILES = 2_000;

/** Files to watch: individual files, and all source files below folders. */
export interface Watched {
  files: string[];
  folders: string[];
}

/** Calls `changed` after each change, until the returned function is called. */
export async function watch(what: () => Watched, changed: () => Promise<void>): Promise<() => void> {
  let before = await signature(what());
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const poll = async () => {
    const now = await signature(what());
    if (now !== before && !stopped) {
      before = now;
      await changed();
    }
    if (!stopped) timer = setTimeout(() => void poll(), POLL_INTERVAL_MS);
  };
  timer = setTimeout(() => void poll(), POLL_INTERVAL_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** Returns one line per file: name, modification time, size. */
async function signature({ files, folders }: Watched): Promise<string> {
  const found = new Set(files.map((file) => resolve(file)));
  for (const folder of folders) await collect(folder, found);
  const lines = await Promise.all([...found].sort().map(async (file) => {
    const { mtimeMs, size } = (await stat(file).catch(() => undefined)) ?? {};
    return `${file}\t${mtimeMs} ${size}`;
  }));
  return lines.join("\n");
}

async function collect(folder: string, found: Set<string>): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    if (found.size >= MAX_FILES) return;
    if (entry.name.startsWith(".") || IGNORED_FOLDERS.has(entry.name)) continue;
    if (entry.isDirectory()) await collect(join(folder, entry.name), found);
    else if (SOURCE_FILE.test(entry.name)) found.add(resolve(folder, entry.name));
  }
}
