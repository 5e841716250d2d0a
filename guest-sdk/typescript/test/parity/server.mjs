// A Kitbag server on loopback with a data folder of its own.
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const BUILT = fileURLToPath(new URL("../../../../target/debug/kitbag", import.meta.url));

/**
 * Path of the program under test: `TEST_KITBAG` (variables KITBAG_* are settings of the program), else the
 * one that cargo built; undefined if there is none.
 */
export const program = [process.env.TEST_KITBAG, BUILT].find((path) => path !== undefined && existsSync(path));

/** Starts a server; `settings` are additional command line flags. */
export async function startServer(settings = []) {
  const data = await mkdtemp(join(tmpdir(), "kitbag-parity-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const flags = [...settings, "--allow-private-ranges", "127.0.0.0/8", "--mcp-requests-per-minute", "100000"];
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("KITBAG_")));
  const child = spawn(program, ["serve", "--listen", `127.0.0.1:${port}`, "--data", data, ...flags], { stdio: ["ignore", "ignore", "inherit"], env });
  await until(async () => (await fetch(`${url}/healthz`)).ok);
  const { stdout } = await run(program, ["token", "--data", data]);
  const token = stdout.trim();
  return {
    url,
    /** Runs a command against the server; returns its standard output. */
    cli: async (args, input) => {
      const running = run(program, [...args, "--data", data], { maxBuffer: 16 << 20 });
      if (input !== undefined) running.child.stdin.end(input);
      return (await running).stdout;
    },
    fetch: (body, headers = {}) =>
      fetch(`${url}/mcp`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${token}` },
        body,
      }),
    stop: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      await rm(data, { recursive: true, force: true });
    },
  };
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function until(ready) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await ready().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the server does not answer");
}

/** Removes from a reply what only a server can say: where its pages are, and who shares a toolkit with whom. */
export function withoutServer(reply) {
  return ofStream(reply).replaceAll(/\\\\nOr on this page: [^"\\]+/g, "").replaceAll(/; the owner of a toolkit, or an operator, shares it \([^)]*\)/g, "");
}

/** Returns the message of a stream of events, which a server answers with once a call has taken some seconds; other replies unchanged. */
function ofStream(reply) {
  const [, message] = /^data: (\{.*\})$/m.exec(reply) ?? [];
  return reply.startsWith(":") && message !== undefined ? message : reply;
}
