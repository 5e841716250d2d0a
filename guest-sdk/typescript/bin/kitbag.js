#!/usr/bin/env node
const USAGE = `Usage: npx kitbag <COMMAND> [OPTIONS] [PATH]

Commands:
  build  Turn an extension.ts into a component, and write manifest.json beside it
  dev    Serve an extension.ts over MCP on this machine, and again after each change

npx kitbag <COMMAND> --help says more. Everything else is the server's own command line, \`kitbag\`.`;

const [command, ...args] = process.argv.slice(2);
if (command === "build") {
  const { main } = await import("../dist/build/cli.js");
  process.exitCode = await main(args);
} else if (command === "dev") {
  const { main } = await import("../dist/dev/cli.js");
  process.exitCode = await main(args);
} else {
  const isHelp = command === "--help" || command === "-h";
  (isHelp ? console.log : console.error)(USAGE);
  process.exitCode = isHelp ? 0 : 2;
}
