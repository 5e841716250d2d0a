// Questions to the user of a test, with the rules of the server: a question ends the run, and the handler runs again.
import { askError } from "../ask.js";
import type { AskReply } from "../platform.js";
import { problemLines } from "../problems.js";
import { answerFields, limitsOfCalls, questionProblems } from "../rules.js";

/** How the user of a test responds: with fields, with a no, or not at all. */
export type TestAnswer = Record<string, unknown> | "decline" | "cancel";

/** A question that a call asked. */
export interface AskedQuestion {
  key: string;
  message: string;
  /** JSON Schema of the answer. */
  schema: unknown;
}

/** The questions of one call, over all its runs. */
export class Questions {
  readonly #answers: Record<string, TestAnswer>;
  readonly #asked: AskedQuestion[];
  /** Those that were asked, with their schemas as given. */
  readonly #known: { key: string; message: string; schema: string }[] = [];
  #end: () => void = () => {};

  /** `asked` receives the questions. */
  constructor(answers: Record<string, TestAnswer> = {}, asked: AskedQuestion[]) {
    this.#answers = answers;
    this.#asked = asked;
  }

  /** Returns the next run's end at a question; never resolves if it asks nothing new. */
  nextRun(): Promise<"asked"> {
    return new Promise((resolve) => {
      this.#end = () => resolve("asked");
    });
  }

  /** Resolves with the answer; without one, ends the run and never resolves. */
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
