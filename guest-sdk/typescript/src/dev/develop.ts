// Serves the newest working version of one toolkit over MCP.
import { dirname, resolve } from "node:path";

import { findEntry } from "../build/build.js";
import { BuildFailure } from "../build/failure.js";
import { warningsOnly } from "../build/reporter.js";
import { checkTypes } from "../build/types.js";
import { fetchHandler } from "../local/fetch-handler.js";
import { userState } from "../local/user-state.js";
import type { Console } from "./console.js";
import { Outbound } from "./outbound.js";
import { serve, type Listen } from "./server.js";
import { ToolkitVersion, type DevWorld, type VersionOptions } from "./version.js";
import { watch } from "./watch.js";
import { readSecrets, secretNotes, typedSettings } from "./world.js";

/** Options of `kitbag dev`. */
export interface DevOptions {
  listen: Listen;
  /** Bearer token that clients must send. */
  token: string;
  /** File with lines NAME=value for the credentials that the toolkit declares. */
  envFile?: string | undefined;
  /** Settings as a user would set them. */
  settings: Record<string, string>;
  /** Private CIDR ranges that requests may reach. */
  allowedRanges: readonly string[];
  /** Time limit of a call in milliseconds. */
  callTime: number;
}

/** A toolkit that is being served. */
export interface Development {
  url: string;
  /** Stops the server and terminates running calls. */
  close(): Promise<void>;
}

/** Serves the toolkit at `path` until it is closed. Starts even if the toolkit does not build yet. */
export async function develop(path: string, options: DevOptions, console: Console): Promise<Development> {
  const entry = await findEntry(path);
  const live = new LiveToolkit(entry, options, console);
  const { server, url } = await serve(options.listen, options.token, (request) => live.answer(request));
  console.line(connections(url, options.token));
  await live.renew();
  const files = () => [entry, ...live.sources, ...(options.envFile === undefined ? [] : [options.envFile])];
  const stop = await watch(() => ({ files: files(), folders: [dirname(entry)] }), () => live.renew());
  return {
    url,
    close: async () => {
      stop();
      live.close();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** The served version, or the reason why there is none. */
class LiveToolkit {
  #version: ToolkitVersion | undefined;
  #fault: string | undefined = "the toolkit has not been read yet";
  #secrets: Record<string, string> = {};
  /** Number of type checks started; only the latest one is reported. */
  #typeChecks = 0;
  /** The last reported type errors, if any. */
  #typeFault: string | undefined;
  readonly #versionOptions: VersionOptions;
  /** In memory; lost when the server stops. */
  readonly #user = userState();

  constructor(
    readonly entry: string,
    readonly options: DevOptions,
    readonly console: Console,
  ) {
    this.#versionOptions = { outbound: new Outbound(options.allowedRanges), console, callTime: options.callTime };
  }

  /** Absolute paths of the author's files. */
  get sources(): string[] {
    return (this.#version?.sources ?? []).map((source) => resolve(dirname(this.entry), source));
  }

  /** Builds and serves the version on disk; on failure, the previous version stays in service. */
  async renew(): Promise<void> {
    const began = performance.now();
    try {
      this.#secrets = await readSecrets(this.options.envFile);
      const version = await ToolkitVersion.make(this.entry, this.#versionOptions);
      const isNew = version.data.code !== this.#version?.data.code;
      const wasBroken = this.#fault !== undefined;
      if (isNew) {
        this.#version?.close();
        this.#version = version;
      } else {
        version.close();
      }
      this.#fault = undefined;
      if (isNew || wasBroken) this.#announce(this.#version!, performance.now() - began);
    } catch (error) {
      this.#fault = errorText(error);
      const still = this.#version === undefined ? "" : `\n${this.#name()} is served on: the version before this change`;
      this.console.line(`error: ${this.#fault}${still}`);
      return;
    }
    this.#checkTypes();
  }

  async answer(request: Request): Promise<Response> {
    const version = this.#version;
    if (version === undefined) {
      const error = { code: -32603, message: `the toolkit cannot be served yet: ${this.#fault}` };
      return Response.json({ jsonrpc: "2.0", error }, { status: 503 });
    }
    return fetchHandler(version.manifest, (target, args) => version.call(target, args, this.#world(version)))(request);
  }

  close(): void {
    this.#version?.close();
    void this.#versionOptions.outbound.close();
  }

  #world({ manifest }: ToolkitVersion): DevWorld {
    const { config } = typedSettings(manifest, this.options.settings);
    return { secrets: this.#secrets, config, user: this.#user };
  }

  #announce(version: ToolkitVersion, milliseconds: number): void {
    const { manifest, warnings } = version;
    const tools = manifest.tools.map(({ name }) => `${manifest.id}__${name}`).join(", ");
    const notes = [...warnings, ...typedSettings(manifest, this.options.settings).problems, ...secretNotes(manifest, this.#secrets)];
    for (const note of notes) this.console.line(`warning: ${note}`);
    this.console.line(`${this.#name()} is served, after ${(milliseconds / 1000).toFixed(1)} s: ${tools}`);
  }

  /**
   * Checks types in the background, because it is slow and calls do not need it. Type errors are only
   * reported.
   */
  #checkTypes(): void {
    const turn = (this.#typeChecks += 1);
    let fault: string | undefined;
    void checkTypes(this.entry, warningsOnly((text) => (fault = text)))
      .catch((error: unknown) => (fault = `${errorText(error)}\na build would refuse this`))
      .then(() => {
        if (turn === this.#typeChecks) this.#reportTypes(fault);
      });
  }

  /** Prints the result of a type check if it differs from the last one. */
  #reportTypes(fault: string | undefined): void {
    if (fault === this.#typeFault) return;
    this.console.line(fault === undefined ? "the types are right again" : `warning: ${fault}`);
    this.#typeFault = fault;
  }

  #name(): string {
    const { id, version } = this.#version!.manifest;
    return `${id} ${version}`;
  }
}

function errorText(error: unknown): string {
  return error instanceof BuildFailure ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function connections(url: string, token: string): string {
  const authorization = `"Authorization: Bearer ${token}"`;
  return `Serving ${url} until Ctrl-C, to programs on this machine that have your token. Connect with

  claude mcp add --transport http kitbag-dev ${url} --header ${authorization}
  curl -s ${url} -H ${authorization} -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  npx -y -p node@22 -p @modelcontextprotocol/inspector@2.12.0 mcp-inspector --cli ${url} --transport http --header ${authorization} --method tools/list
`;
}
