// Reads XML into a tree of bounded size. Feeds are often not well-formed, so the parser is a lenient one; it knows the
// five entities of XML and character references alone, and expands none that a document declares.
import { Parser } from "htmlparser2";

/** An element with its attributes, and the elements and texts in it. */
export interface Element {
  /** Name with its prefix, such as `content:encoded`. */
  name: string;
  attributes: Record<string, string>;
  children: (Element | string)[];
}

/** A document: `root` is absent if there is no element, and `isComplete` is false if its end is missing. */
export interface Document {
  root: Element | undefined;
  isComplete: boolean;
}

const MAX_ELEMENTS = 100_000;
/** Elements deeper than this are left out, with all that is in them. */
const MAX_DEPTH = 60;

export function parseXml(text: string): Document {
  const open: Element[] = [];
  let root: Element | undefined;
  let [isComplete, elements, skipped] = [false, 0, 0];
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        elements += 1;
        if (skipped > 0 || open.length === MAX_DEPTH || elements > MAX_ELEMENTS || (open.length === 0 && root !== undefined)) {
          skipped += 1;
          return;
        }
        const element = { name, attributes, children: [] };
        open.at(-1)?.children.push(element);
        root ??= element;
        open.push(element);
      },
      onclosetag(_, isImplied) {
        if (skipped > 0) {
          skipped -= 1;
          return;
        }
        open.pop();
        if (open.length === 0 && !isImplied && elements <= MAX_ELEMENTS) isComplete = true;
      },
      ontext(part) {
        if (skipped > 0) return;
        const children = open.at(-1)?.children;
        const last = children?.at(-1);
        // A text comes in parts, one for each entity in it.
        if (typeof last === "string") children![children!.length - 1] = last + part;
        else children?.push(part);
      },
    },
    { xmlMode: true },
  );
  parser.end(text);
  return { root, isComplete };
}

/** Returns the elements of a name in an element. */
export function childrenOf(element: Element, name: string): Element[] {
  return element.children.filter((it): it is Element => typeof it !== "string" && it.name === name);
}

/** Returns the text of the first element of one of these names that has any. */
export function textIn(element: Element, ...names: string[]): string | undefined {
  for (const name of names) {
    for (const child of childrenOf(element, name)) {
      const text = textOf(child).trim();
      if (text !== "") return text;
    }
  }
  return undefined;
}

/** Returns the text of an element, with that of the elements in it. */
export function textOf({ children }: Element): string {
  return children.map((it) => (typeof it === "string" ? it : textOf(it))).join("");
}

/** Returns what is in an element as markup, without attributes. */
export function markupOf({ children }: Element): string {
  const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return children.map((it) => (typeof it === "string" ? escaped(it) : `<${it.name}>${markupOf(it)}</${it.name}>`)).join("");
}
