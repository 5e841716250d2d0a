// Serves one toolkit over MCP, and always its newest version that works.
import { dirname, resolve } from "node:path";

import { findEntry } from "../build/build.js";
import { BuildFailure } from "../build/failure.js";
import { warningsOnly } from "../build/reporter.js";
import { checkTypes } from "../build/types.js";
import { fetchHandler } from "../local/fetch-handler.js";
import type { SvcDocument } from "../types.js";
import type { Console } from "./console.js";
import { Outbound } from "./outbound.js";
import { serve, type Listen } from "./server.js";
import { ToolkitVersion, type DevWorld, type VersionOptions } from "./version.js";
import { watch } from "./watch.js";
import { readSecrets, secretNotes, typedSettings } from "./world.js";

/** What may differ from one run to another. */
export interface DevOptions {
  listen: Listen;
  /** Whoever has it may call. */
  token: string;
  /** Lines of NAME=value for the credentials that the toolkit declares. */
  envFile?: string | undefined;
  /** Settings as a user would set them. */
  settings: Record<string, string>;
  /** Ranges of addresses that requests may reach although they are not public. */
  allowedRanges: readonly string[];
  /** How long a call may take, in milliseconds. */
  callTime: number;
}

/** A toolkit that is being served. */
export interface Development {
  url: string;
  /** Ends everything; calls that run are ended too. */
  close(): Promise<void>;
}

/** Serves the toolkit at `path` until it is closed; it need not work yet. */
export async function develop(path: string, options: DevOptions, console: Console): Promise<Development> {
  const entry = await findEntry(path);
  const live = new Live(entry, options, console);
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

/** The version that is served, or why there is none. */
class Live {
  #version: ToolkitVersion | undefined;
  #fault: string | undefined = "the toolkit has not been read yet";
  #secrets: Record<string, string> = {};
  #types = 0;
  /** What was last said of the types, if they were wrong. */
  #typeFault: string | undefined;
  readonly #versionOptions: VersionOptions;
  /** The knowledge base; it is there until the server ends. */
  readonly #documents: SvcDocument[] = [];

  constructor(
    readonly entry: string,
    readonly options: DevOptions,
    readonly console: Console,
  ) {
    this.#versionOptions = { outbound: new Outbound(options.allowedRanges), console, callTime: options.callTime };
  }

  /** The author's files outside and inside of the entry's folder. */
  get sources(): string[] {
    return (this.#version?.sources ?? []).map((source) => resolve(dirname(this.entry), source));
  }

  /** Makes what is on disk the version that is served; where that fails, the one before stays. */
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
      this.#fault = told(error);
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
    return fetchHandler(version.manifest, (tool, args) => version.call(tool, args, this.#world(version)))(request);
  }

  close(): void {
    this.#version?.close();
    void this.#versionOptions.outbound.close();
  }

  #world({ manifest }: ToolkitVersion): DevWorld {
    const { config } = typedSettings(manifest, this.options.settings);
    return { secrets: this.#secrets, config, documents: this.#documents };
  }

  #announce(version: ToolkitVersion, milliseconds: number): void {
    const { manifest, warnings } = version;
    const tools = manifest.tools.map(({ name }) => `${manifest.id}__${name}`).join(", ");
    const notes = [...warnings, ...typedSettings(manifest, this.options.settings).problems, ...secretNotes(manifest, this.#secrets)];
    for (const note of notes) this.console.line(`warning: ${note}`);
    this.console.line(`${this.#name()} is served, after ${(milliseconds / 1000).toFixed(1)} s: ${tools}`);
  }

  /** Takes longer than all else, and a call does not need it: a wrong type is said, and served. */
  #checkTypes(): void {
    const turn = (this.#types += 1);
    let fault: string | undefined;
    void checkTypes(this.entry, warningsOnly((text) => (fault = text)))
      .catch((error: unknown) => (fault = `${told(error)}\na build would refuse this`))
      .then(() => {
        if (turn === this.#types) this.#tellTypes(fault);
      });
  }

  /** A change that leaves the types as they were is no reason to say it again. */
  #tellTypes(fault: string | undefined): void {
    if (fault === this.#typeFault) return;
    this.console.line(fault === undefined ? "the types are right again" : `warning: ${fault}`);
    this.#typeFault = fault;
  }

  #name(): string {
    const { id, version } = this.#version!.manifest;
    return `${id} ${version}`;
  }
}

function told(error: unknown): string {
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
