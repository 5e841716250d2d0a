// Host functions in a test. They grant exactly what the declaration grants.
import { credentialsOf, signInsOf } from "../auth.js";
import { knowledgeError } from "../knowledge.js";
import type { FetchImplementation, ToolkitDefinition } from "../define.js";
import type { Manifest } from "../manifest.js";
import type { Platform } from "../platform.js";
import { settingsOf } from "../rules.js";
import type { SvcClient, SvcDocument } from "../types.js";
import { cacheIn, type Cached } from "./cache.js";
import { outsideOfCalls } from "./current-call.js";
import { Network } from "./network.js";
import { isToken } from "./sign-in.js";
import { checkDocuments, searchDocuments } from "./documents.js";
import type { Questions, TestAnswer } from "./questions.js";
import type { Trace } from "./trace.js";

/** The environment of a call in a test. */
export interface TestWorld {
  /** Id of the calling user; by default `test-user`. */
  userId?: string | undefined;
  /** The user's credentials by name. Only declared names are allowed, and names that only `auth` uses. */
  secrets?: Record<string, string> | undefined;
  /** Access token of the user's connected account, for an `auth` of type `oauth2_authorization_code`. */
  account?: string | undefined;
  /** The user's settings by key. Only declared keys are allowed. */
  config?: Record<string, unknown> | undefined;
  /** The user's knowledge base. A search finds the documents that contain any word of the query. */
  documents?: SvcDocument[] | undefined;
  /** Methods that replace those of the in-memory knowledge base. */
  svc?: Partial<SvcClient> | undefined;
  /**
   * The user's answers to questions, by key: fields, `"decline"` or `"cancel"`. Without any answer, `ctx.ask` rejects with
   * a `CannotAskError`.
   */
  answers?: Record<string, TestAnswer> | undefined;
  /**
   * The user's cache, which the call reads and changes. Pass the same one to several calls to share it; by default each
   * call has an empty one.
   */
  cache?: Cached | undefined;
  /** Answers requests; by default the `fetchImpl` of `defineToolkit`, else the network. */
  fetchImpl?: FetchImplementation | undefined;
}

/**
 * Throws if the test has credentials, settings or an account that the toolkit does not declare, or values that do
 * not fit.
 */
export function checkWorld(manifest: Manifest, world: TestWorld): void {
  const { id, config } = manifest;
  const credentials = credentialsOf(manifest);
  const problems = [
    ...Object.keys(world.secrets ?? {})
      .filter((name) => !credentials.includes(name))
      .map((name) => `secret ${name}: not declared`),
    ...accountProblems(manifest, world),
    ...Object.entries(settingsOf(config, world.config ?? {}).problems).map(([key, why]) => `config ${key}: ${why}`),
  ];
  if (problems.length > 0) throw new Error(`the call does not fit ${JSON.stringify(id)}:\n${problems.join("\n")}`);
}

function accountProblems(manifest: Manifest, { account }: TestWorld): string[] {
  if (account === undefined) return [];
  if (!signInsOf(manifest).some(({ type }) => type === "oauth2_authorization_code")) return ["account: auth has no oauth2_authorization_code"];
  return isToken(account) ? [] : ["account: has characters that a header cannot have"];
}

/** Creates the host functions of one call. */
export function testPlatform(toolkit: ToolkitDefinition, world: TestWorld, trace: Trace, questions: Questions): Platform {
  const { config } = toolkit;
  const network = new Network(config, world, world.fetchImpl ?? toolkit.options.fetchImpl, trace);
  const { svc = {} } = world;
  return {
    ...cacheIn(world.cache ?? new Map()),
    log: (args) => void trace.log.push(args.map((text) => JSON.parse(text) as unknown)),
    progress: (report) => void trace.progress.push(report),
    secret: (name) => world.secrets?.[name],
    // Functions of the test see the globals of Node.js.
    fetch: (input, init) => outsideOfCalls(() => network.fetch(input, init)),
    search: async (query, options) =>
      svc.search ? outsideOfCalls(() => svc.search!(query, options)) : searchDocuments(world.documents ?? [], query, options),
    getDocument: async (id) => {
      if (svc.getDocument) return outsideOfCalls(() => svc.getDocument!(id));
      const found = world.documents?.find((document) => document.id === id);
      if (found === undefined) throw knowledgeError({ tag: "not-found" });
      return found;
    },
    ingest: async (docs) => {
      checkDocuments(docs);
      const stored = svc.ingest ? (await outsideOfCalls(() => svc.ingest!(docs))).ingested : docs.length;
      trace.ingested.push(...docs);
      return stored;
    },
    ask: (key, message, schema) => questions.ask(key, message, schema),
  };
}
