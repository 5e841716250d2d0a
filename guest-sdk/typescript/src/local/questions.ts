// Questions to the user in a test, with the rules of a server: a question ends the run, and the handler runs again.
import { askError } from "../ask.js";
import type { AskReply } from "../platform.js";
import { problemLines } from "../problems.js";
import { answerFields, limitsOfCalls, questionProblems } from "../rules.js";

/** Response of the user in a test: fields, `"decline"`, or `"cancel"` for no answer. */
export type TestAnswer = Record<string, unknown> | "decline" | "cancel";

/** Question asked by a call. */
export interface AskedQuestion {
  key: string;
  message: string;
  /** JSON Schema of the answer. */
  schema: unknown;
}

/** Questions of one call, across all its runs. */
export class Questions {
  readonly #answers: Record<string, TestAnswer>;
  readonly #asked: AskedQuestion[];
  /** Questions asked so far, with their schemas as given. */
  readonly #known: { key: string; message: string; schema: string }[] = [];
  #end: () => void = () => {};

  /** Creates the state of one call. Each question is appended to `asked`. */
  constructor(answers: Record<string, TestAnswer> = {}, asked: AskedQuestion[]) {
    this.#answers = answers;
    this.#asked = asked;
  }

  /** Resolves when the next run ends at a new question; never resolves otherwise. */
  nextRun(): Promise<"asked"> {
    return new Promise((resolve) => {
      this.#end = () => resolve("asked");
    });
  }

  /** Resolves with the answer if the question was asked in an earlier run; otherwise ends the run and never resolves. */
  ask(key: string, message: string, schema: string): Promise<AskReply> {
    if (Object.keys(this.#answers).length === 0) throw askError({ tag: "unsupported" });
    const problems = questionProblems(key, message, schema);
    if (problems.length > 0) throw askError({ tag: "invalid", val: problemLines(problems) });
    if (this.#known.some((it) => it.key === key && it.message === message && it.schema === schema)) {
      return Promise.resolve(this.#answerTo(key, message, schema));
    }
    const { questions } = limitsOfCalls();
    if (this.#known.length >= questions) {
      throw askError({ tag: "invalid", val: `the call has asked ${questions} questions, which is the most it may` });
    }
    this.#known.push({ key, message, schema });
    this.#asked.push({ key, message, schema: JSON.parse(schema) as unknown });
    this.#end();
    return new Promise(() => {});
  }

  #answerTo(key: string, message: string, schema: string): AskReply {
    const answer = Object.hasOwn(this.#answers, key) ? this.#answers[key]! : undefined;
    if (answer === undefined) throw new Error(`the test has no answer to the question ${JSON.stringify(key)}`);
    if (answer === "decline") return { tag: "declined" };
    if (answer === "cancel") return { tag: "cancelled" };
    const { fields, violations = [] } = answerFields(key, message, schema, answer);
    if (fields === undefined) throw new Error(`the answer to the question ${JSON.stringify(key)} does not fit: ${violations.join("; ")}`);
    return { tag: "accepted", val: JSON.stringify(fields) };
  }
}
