#!/usr/bin/env node
import { main } from "../dist/build/cli.js";

const args = process.argv.slice(2);
if (args[0] === "build") {
  process.exitCode = await main(args);
} else {
  console.error("Usage: npx kitbag build [PATH]   (npx kitbag build --help)\n\nEverything else is the server's own command line, `kitbag`.");
  process.exitCode = args.includes("--help") || args.includes("-h") ? 0 : 2;
}
