// Host functions in a test. They grant exactly what the declaration grants.
import { knowledgeError } from "../knowledge.js";
import type { FetchImplementation, ToolkitDefinition } from "../define.js";
import type { Manifest } from "../manifest.js";
import type { Platform } from "../platform.js";
import type { SvcClient, SvcDocument } from "../types.js";
import { cacheIn, type Cached } from "./cache.js";
import { outsideOfCalls } from "./current-call.js";
import { Network } from "./network.js";
import { ingestInto, searchDocuments } from "./documents.js";
import { host } from "./host.js";
import type { Questions, TestAnswer } from "./questions.js";
import { redactedValues, type Trace } from "./trace.js";
import { userState, type Change, type UserState } from "./user-state.js";

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

/** The environment of a call, with the state of its user, which may outlast it. */
export interface CallWorld extends TestWorld {
  /** By default `documents` and `cache`. */
  user?: UserState | undefined;
  /** Is told of each change of that state. */
  changed?: ((change: Change) => void) | undefined;
}

/**
 * Throws if the test has credentials, settings or an account that the toolkit does not declare, or values that do
 * not fit.
 */
export function checkWorld(manifest: Manifest, { secrets = {}, account, config = {} }: TestWorld): void {
  const { problems } = host("environment", { toolkit: { ...manifest, tools: [] }, environment: { secrets, account, config } });
  if (problems.length > 0) throw new Error(`the call does not fit ${JSON.stringify(manifest.id)}:\n${problems.join("\n")}`);
}

/** Creates the host functions of one call. */
export function testPlatform(toolkit: ToolkitDefinition, world: CallWorld, trace: Trace, questions: Questions): Platform {
  const { config } = toolkit;
  const network = new Network(config, world, world.fetchImpl ?? toolkit.options.fetchImpl, trace);
  const { svc = {}, user: { cache, library } = userState(world), changed = () => {} } = world;
  return {
    ...cacheIn(cache, (key, entry) => changed({ kind: "cached", key, entry })),
    log: (args) => void trace.log.push(args.map((text) => JSON.parse(text) as unknown)),
    progress: (report) => void trace.progress.push(report),
    secret: (name) => world.secrets?.[name],
    // Functions of the test see the globals of Node.js.
    fetch: (input, init) => outsideOfCalls(() => network.fetch(input, init)),
    search: async (query, options) =>
      svc.search ? outsideOfCalls(() => svc.search!(query, options)) : searchDocuments(library, query, options),
    getDocument: async (id) => {
      if (svc.getDocument) return outsideOfCalls(() => svc.getDocument!(id));
      const found = library.documents.find((document) => document.id === id);
      if (found === undefined) throw knowledgeError({ tag: "not-found" });
      return found;
    },
    ingest: async (docs) => {
      ingestInto(library, docs, config.id, redactedValues(world, trace));
      changed({ kind: "ingested", documents: docs });
      const stored = svc.ingest ? (await outsideOfCalls(() => svc.ingest!(docs))).ingested : docs.length;
      trace.ingested.push(...docs);
      return stored;
    },
    ask: (key, message, schema) => questions.ask(key, message, schema),
  };
}
