// Questions to the calling user during a call.
import type { Platform } from "./platform.js";
import { answerUnfit, askRefused, askUnsupported, undeclaredScope } from "./texts.js";
import { CannotAskError, ToolError } from "./tool-error.js";
import type { Asked, Question } from "./types.js";

/** Schema of a form without fields, for a yes/no question. */
const NO_FIELDS = { type: "object", properties: {} };

/** Schema of a library that implements Standard Schema and Standard JSON Schema, as zod does since 4.2. */
interface StandardSchema {
  "~standard": {
    validate(value: unknown): StandardResult | Promise<StandardResult>;
    jsonSchema?: { input(options: { target: string }): Record<string, unknown> };
  };
}

interface StandardResult {
  value?: unknown;
  issues?: readonly { message: string }[] | undefined;
}

type Fields = Record<string, unknown>;

/** Returns `ctx.ask` for one run of a handler. */
export function asker(scopes: readonly string[], platform: Platform): (question: Question) => Promise<Asked<unknown>> {
  let unnamed = 0;
  return async ({ key, message, schema = NO_FIELDS }) => {
    if (!scopes.includes("svc:ask")) throw new Error(askRefused(undeclaredScope("svc:ask")));
    const name = key ?? `question-${++unnamed}`;
    for (const [path, text] of Object.entries({ key: name, message })) {
      if (typeof text !== "string") throw new Error(askRefused(`${path}: must be a string`));
    }
    const reply = await platform.ask(name, message, JSON.stringify(formOf(schema)));
    switch (reply.tag) {
      case "accepted":
        return { action: "accept", value: await checked(name, schema, JSON.parse(reply.val) as Fields) };
      case "declined":
        return { action: "decline" };
      case "cancelled":
        return { action: "cancel" };
    }
  };
}

/** An error of a question: the variant `ask-error` of the WIT contract. */
export type AskError = { tag: "unsupported" } | { tag: "invalid"; val: string };

/** Converts an error of a question to an exception. `unsupported` is shown to the model; any other is for the log. */
export function askError(error: AskError): Error {
  return error.tag === "unsupported" ? new CannotAskError(askUnsupported()) : new Error(askRefused(error.val));
}

/** Keywords that clients do not know. They are removed from the form; the schema library checks them in the answer. */
const CHECKED_LATER = ["pattern", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems"];

/** Returns the JSON Schema of a form. */
function formOf(schema: unknown): unknown {
  if (!isStandard(schema)) return schema;
  const { jsonSchema } = schema["~standard"];
  if (jsonSchema === undefined) throw new Error(askRefused("schema: this library makes no JSON Schema of it; zod does since 4.2"));
  const { properties = {}, ...form } = jsonSchema.input({ target: "draft-2020-12" });
  const fields = Object.entries(properties as Record<string, Fields>).map(([name, field]) => [name, without(field, CHECKED_LATER)]);
  return { ...without(form, ["additionalProperties"]), properties: Object.fromEntries(fields) };
}

/** Validates the fields of an answer with the schema library; returns the library's value. */
async function checked(key: string, schema: unknown, fields: Fields): Promise<unknown> {
  if (!isStandard(schema)) return fields;
  const { value, issues } = await schema["~standard"].validate(fields);
  if (issues === undefined) return value;
  throw new ToolError(answerUnfit(key, issues.map((it) => it.message).join("; ")));
}

function isStandard(schema: unknown): schema is StandardSchema {
  return (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema;
}

function without(object: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}
