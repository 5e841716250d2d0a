// Reads XML into a tree of bounded size. Feeds are often not well-formed, so the parser is a lenient one.
import { parseMarkup } from "./markup";

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

export function parseXml(text: string): Document {
  const open: Element[] = [];
  let root: Element | undefined;
  let isComplete = false;
  const handler = {
    onopentag(name: string, attributes: Record<string, string>) {
      const element = { name, attributes, children: [] };
      open.at(-1)?.children.push(element);
      root ??= element;
      open.push(element);
    },
    onclosetag(_: string, isImplied: boolean) {
      if (open.pop() === root) isComplete = !isImplied;
    },
    ontext(part: string) {
      const children = open.at(-1)?.children;
      const last = children?.at(-1);
      // A text comes in parts, one for each entity in it.
      if (typeof last === "string") children![children!.length - 1] = last + part;
      else children?.push(part);
    },
  };
  const isWithinBounds = parseMarkup(text, handler, "XML");
  return { root, isComplete: isComplete && isWithinBounds };
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
