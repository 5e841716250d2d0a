// Runs a lenient parser of XML and HTML within bounds. It knows the entities of the language and character references alone,
// and expands none that a document declares.
import { Parser, type Handler } from "htmlparser2";

const MAX_ELEMENTS = 100_000;
/** Deeper than any real document; the time that the parser takes for an element grows with its depth. */
const MAX_DEPTH = 200;

/** Parses a text, and returns whether that was within bounds; beyond them, parsing ends. */
export function parseMarkup(text: string, handler: Pick<Partial<Handler>, "onopentag" | "onclosetag" | "ontext">, language: "HTML" | "XML"): boolean {
  let [elements, depth] = [0, 0];
  const bounded: Partial<Handler> = {
    ...handler,
    onopentag(...tag) {
      elements += 1;
      depth += 1;
      if (elements > MAX_ELEMENTS || depth > MAX_DEPTH) throw new OutOfBounds();
      handler.onopentag?.(...tag);
    },
    onclosetag(...tag) {
      depth -= 1;
      handler.onclosetag?.(...tag);
    },
  };
  try {
    new Parser(bounded, { xmlMode: language === "XML" }).end(text);
    return true;
  } catch (error) {
    if (error instanceof OutOfBounds) return false;
    throw error;
  }
}

class OutOfBounds extends Error {}
