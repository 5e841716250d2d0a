// The world of a test: it grants what the declaration grants, and nothing else.
import { knowledgeError } from "../knowledge.js";
import type { FetchImplementation, ToolkitDefinition } from "../define.js";
import type { Manifest } from "../manifest.js";
import type { Platform } from "../platform.js";
import { settingsOf, type SignInCause } from "../rules.js";
import type { Progress, SvcClient, SvcDocument, SvcIngestDoc } from "../types.js";
import { Network } from "./network.js";
import { documentProblems, searchDocuments } from "./documents.js";

/** What a call finds around it. */
export interface TestWorld {
  /** The calling user; by default `test-user`. */
  userId?: string | undefined;
  /** Credentials as the user would set them. */
  secrets?: Record<string, string> | undefined;
  /** Settings as the user would set them. */
  config?: Record<string, unknown> | undefined;
  /** The user's knowledge base: a search finds the documents that hold any word of the query. */
  documents?: SvcDocument[] | undefined;
  /** Answers in the place of that knowledge base. */
  svc?: Partial<SvcClient> | undefined;
  /** Answers requests; by default what `defineToolkit` was given, and else the network. */
  fetchImpl?: FetchImplementation | undefined;
}

/** What a call left behind, for a test to look at. */
export interface Trace {
  /** Entries of `ctx.log`, as they would be written. */
  log: unknown[][];
  progress: Progress[];
  /** Requests that `egress` let through, redirects included. */
  requests: { method: string; url: string }[];
  ingested: SvcIngestDoc[];
  /** What the handler threw, when the model learnt only that the tool failed. */
  failure?: unknown;
  /** Why the host could not sign in for the toolkit: what a call that fails is about. */
  signIn?: SignInCause | undefined;
}

/** Says what the host would not have stored for this toolkit: the test itself is wrong. */
export function checkWorld({ id, secrets, config }: Manifest, world: TestWorld): void {
  const problems = [
    ...Object.keys(world.secrets ?? {})
      .filter((name) => !secrets.includes(name))
      .map((name) => `secret ${name}: not declared`),
    ...Object.entries(settingsOf(config, world.config ?? {}).problems).map(([key, why]) => `config ${key}: ${why}`),
  ];
  if (problems.length > 0) throw new Error(`the call does not fit ${JSON.stringify(id)}:\n${problems.join("\n")}`);
}

/** Makes the host of one call. */
export function testPlatform(toolkit: ToolkitDefinition, world: TestWorld, trace: Trace): Platform {
  const { config } = toolkit;
  const network = new Network(config, world.secrets ?? {}, world.fetchImpl ?? toolkit.options.fetchImpl, trace);
  const { svc = {} } = world;
  return {
    log: (args) => void trace.log.push(args.map((text) => JSON.parse(text) as unknown)),
    progress: (report) => void trace.progress.push(report),
    secret: (name) => world.secrets?.[name],
    fetch: (input, init) => network.fetch(input, init),
    search: async (query, options) =>
      svc.search ? svc.search(query, options) : searchDocuments(world.documents ?? [], query, options),
    getDocument: async (id) => {
      if (svc.getDocument) return svc.getDocument(id);
      const found = world.documents?.find((document) => document.id === id);
      if (found === undefined) throw knowledgeError({ tag: "not-found" });
      return found;
    },
    ingest: async (docs) => {
      const problems = docs.flatMap((doc, index) => documentProblems(`documents[${index}]`, doc));
      if (problems.length > 0) throw knowledgeError({ tag: "invalid", val: problems.join("\n") });
      const stored = svc.ingest ? (await svc.ingest(docs)).ingested : docs.length;
      trace.ingested.push(...docs);
      return stored;
    },
  };
}
