// A real server with a data directory of its own, and the commands that talk to it.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "../../..");
const program = process.env.TEST_KITBAG ?? join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug/kitbag");
const components = process.env.TEST_COMPONENTS ?? join(root, "target-guests/components");

/** How long a server may live, in seconds: it ends even if its test is killed. */
const LIFETIME = 600;
const START_TIMEOUT = 60_000;
const COMMAND_TIMEOUT = 120_000;
const STOP_TIMEOUT = 10_000;

export class Server {
  /** Starts a server in local mode; `flags` are those of `kitbag serve`. */
  static async start(flags = []) {
    const folder = await mkdtemp(join(tmpdir(), "kitbag-browser-"));
    const server = new Server(folder);
    try {
      await server.#run(flags);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  constructor(folder) {
    this.folder = folder;
    this.data = join(folder, "data");
    // Without the settings and the sign-in sessions of the account that runs the tests.
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("KITBAG_"));
    this.environment = { ...Object.fromEntries(own), XDG_STATE_HOME: folder };
  }

  async #run(flags) {
    const command = [String(LIFETIME), program, "serve", "--listen", "127.0.0.1:0", "--data", this.data, ...flags];
    const stdio = ["ignore", "pipe", "pipe"];
    this.process = spawn("timeout", ["--kill-after=5", ...command], { cwd: this.folder, env: this.environment, stdio });
    this.ended = new Promise((done) => this.process.once("close", done).once("error", done));
    let log = "";
    this.process.stderr.on("data", (text) => (log += text));
    const lines = createInterface(this.process.stdout);
    const line = await Promise.race([
      new Promise((done) => lines.once("line", done)),
      this.ended.then(() => Promise.reject(new Error(`the server did not start: ${log}`))),
      after(START_TIMEOUT, "the server starts too slowly"),
    ]);
    this.origin = new URL(line.replace("Kitbag serves ", "")).origin;
    this.code = (await readFile(join(this.data, "sign-in-code"), "utf8")).trim();
  }

  /** Runs a command of the program as the operator `local`; returns its standard output. */
  command(...words) {
    return this.commandWith("", ...words);
  }

  /** The same, with this standard input. */
  async commandWith(input, ...words) {
    const options = { cwd: this.folder, env: this.environment, timeout: COMMAND_TIMEOUT, maxBuffer: 16 << 20 };
    const running = promisify(execFile)(program, [...words, "--data", this.data], options);
    running.child.stdin.end(input);
    return (await running).stdout;
  }

  /** Deploys components by the names of their packages. */
  async deploy(...packages) {
    for (const name of packages) {
      await this.command("toolkit", "deploy", this.component(name), "--yes");
    }
  }

  /** Deploys the toolkit `signed-in` with a secret of `local`, and then a version that also reaches another host. */
  async deployFurther() {
    const further = await readFile(this.component("guest-signed-in"));
    const file = join(this.folder, "signed-in.wasm");
    await writeFile(file, withText(further, "localhost:18999", "127.0.0.9:18999"));
    await this.command("toolkit", "deploy", file);
    await this.commandWith("an-id", "secret", "set", "signed-in", "CLIENT_ID", "--from-stdin");
    await writeFile(file, withText(further, "1.0.0", "1.1.0"));
    await this.command("toolkit", "deploy", file);
  }

  /** The file of a component, by the name of its package. */
  component(name) {
    return join(components, `${name}.wasm`);
  }

  /** Calls a tool as the operator `local`; returns the reply of the server. */
  async call(tool, input) {
    const token = (await this.command("token")).trim();
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: input } };
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    };
    const response = await fetch(`${this.origin}/mcp`, { method: "POST", headers, body: JSON.stringify(message) });
    if (!response.ok) throw new Error(`${tool}: ${response.status} ${await response.text()}`);
    return response.text();
  }

  /** Ends the server and removes its data. */
  async stop() {
    this.process?.kill("SIGTERM");
    await Promise.race([this.ended, after(STOP_TIMEOUT).catch(() => this.process.kill("SIGKILL"))]);
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The bytes with another text of the same length. */
function withText(bytes, from, to) {
  return Buffer.from(bytes.toString("latin1").replaceAll(from, to), "latin1");
}

function after(milliseconds, message) {
  return new Promise((_, fail) => setTimeout(fail, milliseconds, new Error(message)).unref());
}
