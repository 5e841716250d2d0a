#!/usr/bin/env node
const USAGE = `Usage: npx kitbag <COMMAND> [OPTIONS] [PATH]

Commands of the SDK:
  build  Turn an extension.ts into a component, and write manifest.json beside it
  dev    Serve an extension.ts over MCP on this machine, and again after each change

Tools from an OpenAPI document are made by \`kitbag toolkit new NAME --openapi FILE\`.

npx kitbag <COMMAND> --help says more. Every other command is one of the program \`kitbag\`:
`;

const [command, ...args] = process.argv.slice(2);
if (command === "build") {
  const { main } = await import("../dist/build/cli.js");
  process.exitCode = await main(args);
} else if (command === "dev") {
  const { main } = await import("../dist/dev/cli.js");
  process.exitCode = await main(args);
} else if (command === "openapi") {
  // For the program, which adds the files that every toolkit has.
  const { main } = await import("../dist/openapi/cli.js");
  process.exitCode = await main(args);
} else {
  const { findProgram, main } = await import("../dist/program.js");
  const isHelp = command === "--help" || command === "-h";
  if (command === undefined || isHelp) (isHelp ? console.log : console.error)(USAGE);
  if (command === undefined) process.exitCode = 2;
  else if (!isHelp || findProgram() !== undefined) process.exitCode = await main([command, ...args]);
}
