// The contract lies at the repository's root; the package carries a copy, so that it builds anywhere.
import { copyFile, mkdir } from "node:fs/promises";

const source = new URL("../../../wit/current/toolkit.wit", import.meta.url);
await mkdir(new URL("../wit/", import.meta.url), { recursive: true });
await copyFile(source, new URL("../wit/toolkit.wit", import.meta.url));
