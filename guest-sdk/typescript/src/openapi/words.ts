// Names and texts of an untrusted document in generated code.
//
// Invariant: text of a document enters the code only through `literal`, `identifier` or `commentText`.

/** Invisible characters and those that reorder text: C0 and C1 controls, zero-width and bidirectional characters, tags. */
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Returns a JavaScript string literal. */
export function literal(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll(/[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Returns text for a comment: one line that cannot end the comment. */
export function commentText(text: string): string {
  return oneLine(text).replaceAll("*/", "* /");
}

/** Returns a text on one line, without invisible characters. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\s\u2028\u2029]+/g, " ").replaceAll(INVISIBLE, "").trim();
}

/** HTML tags that occur in descriptions. Others, such as `<id>`, are kept as text. */
const TAG = /<\/?(?:a|b|br|code|dd|div|dl|dt|em|h[1-6]|hr|i|img|li|ol|p|pre|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)(?:\s[^<>]{0,200})?\/?>/gi;

/** Returns a text of a document for a model: HTML and Markdown links reduced to their text, on one line, of limited length. */
export function prose(text: string | undefined, maxLength: number): string {
  if (text === undefined) return "";
  const head = text.slice(0, maxLength * 4);
  const plain = head.replaceAll(TAG, " ").replaceAll(/\[([^[\]]{1,200})\]\([^()\s]{1,500}\)/g, "$1");
  return cut(oneLine(plain), maxLength);
}

/** Truncates a text at the end of a sentence, or else of a word. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const head = text.slice(0, maxLength);
  const sentence = head.lastIndexOf(". ");
  if (sentence > maxLength / 2) return head.slice(0, sentence + 1);
  const word = head.lastIndexOf(" ");
  return `${(word > maxLength / 2 ? head.slice(0, word) : head).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Splits a name into words: `getPet-ByID2` becomes get, pet, by, id2. */
export function wordsOf(name: string): string[] {
  return name
    .normalize("NFKD")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase());
}

/** Converts a name such as `getPet` to `get_pet`. */
export function snakeCase(name: string): string {
  return wordsOf(name).join("_");
}

/** Converts a name such as `get_pet` to `getPet`. */
export function camelCase(name: string): string {
  return wordsOf(name)
    .map((word, index) => (index === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join("");
}

/** Converts a name such as `pet-simple` to `PetSimple`. */
export function pascalCase(name: string): string {
  return wordsOf(name)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join("");
}

/** Whether a text is an identifier of ASCII letters. */
export function isIdentifier(text: string): boolean {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(text);
}

const RESERVED = new Set(
  (
    "break case catch class const continue debugger default delete do else enum export extends false finally for function if import in " +
    "instanceof new null return super switch this throw true try typeof var void while with yield let static implements interface package " +
    "private protected public await async arguments eval undefined NaN Infinity " +
    // Names of the generated code itself.
    "ctx json form multipart request tool z csv spaced piped deep jsonText file given"
  ).split(" "),
);

/** Returns a name for a variable: the name itself, unless it is reserved or not an identifier. */
export function identifier(name: string): string {
  const made = isIdentifier(name) ? name : camelCase(name) || "it";
  const started = /^[0-9]/.test(made) ? `_${made}` : made;
  return RESERVED.has(started) || isInherited(started) ? `${started}_` : started;
}

/** Whether every object inherits a member of this name, such as `constructor`. */
export function isInherited(name: string): boolean {
  return name in Object.prototype;
}

/** Returns a key for an object literal or a pattern. */
export function key(name: string): string {
  return isIdentifier(name) && name !== "__proto__" ? name : literal(name);
}

/** Registry of unique names: a name that is already in use gets a number. */
export class Names {
  readonly #taken = new Set<string>();
  readonly #maxLength: number;

  constructor(maxLength = 200) {
    this.#maxLength = maxLength;
  }

  /** Reserves and returns the name, or the name with the first number that makes it unique. */
  take(name: string, separator = ""): string {
    const base = this.#cut(name, this.#maxLength, separator);
    for (let number = 1; ; number++) {
      const suffix = number === 1 ? "" : `${separator}${number}`;
      const made = this.#cut(base, this.#maxLength - suffix.length, separator) + suffix;
      if (this.#taken.has(made)) continue;
      this.#taken.add(made);
      return made;
    }
  }

  /** Truncates a name, between words if possible. */
  #cut(name: string, length: number, separator: string): string {
    if (name.length <= length) return name;
    const head = name.slice(0, length);
    const end = separator === "" ? -1 : head.lastIndexOf(separator);
    return end > length / 2 ? head.slice(0, end) : head;
  }
}
