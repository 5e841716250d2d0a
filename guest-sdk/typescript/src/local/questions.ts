// Questions to the user in a test, as on a server: a question ends the run, and the handler runs again.
import { askError } from "../ask.js";
import type { AskReply } from "../platform.js";
import { host } from "./host.js";

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
  #hasEnded = false;
  #end: (asked: "asked") => void = () => {};
  #fail: (mistake: Error) => void = () => {};

  /** Creates the state of one call. Each question is appended to `asked`. */
  constructor(answers: Record<string, TestAnswer> = {}, asked: AskedQuestion[]) {
    this.#answers = answers;
    this.#asked = asked;
  }

  /**
   * Resolves when the next run ends at a new question; never resolves otherwise. Rejects if the test has no answer to a
   * question, or one that does not fit.
   */
  nextRun(): Promise<"asked"> {
    this.#hasEnded = false;
    return new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
  }

  /** Resolves with the answer if the question was asked in an earlier run; otherwise ends the run and never resolves. */
  ask(key: string, message: string, schema: string): Promise<AskReply> {
    const question = { key, message, schema };
    const asking = host("ask", { answers: this.#answers, asked: this.#known, hasEnded: this.#hasEnded, ...question });
    if ("reply" in asking) return Promise.resolve(asking.reply);
    if ("refused" in asking) throw askError(asking.refused);
    if ("mistake" in asking) this.#fail(new Error(asking.mistake));
    else if (asking.isNew) {
      this.#known.push(question);
      this.#asked.push({ key, message, schema: JSON.parse(schema) as unknown });
      this.#hasEnded = true;
      this.#end("asked");
    }
    return new Promise(() => {});
  }
}
