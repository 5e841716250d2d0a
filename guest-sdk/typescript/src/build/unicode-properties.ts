// The sandbox's engine knows no \p{…} in regular expressions. What a bundle names of it is worked out here,
// where Node.js knows it, and travels with the bundle.

/** As it stands in a bundle: in the text of a regular expression, or in a string that becomes one. */
const ESCAPE = /\\{1,2}([pP])\{([\w=]+)\}/g;
const LAST = 0x10ffff;

/** Returns what a bundle must begin with so that its \p{…} are understood; nothing where it has none. */
export function unicodeProperties(code: string): string | undefined {
  const tables = new Map<string, string>();
  for (const [, kind, name] of code.matchAll(ESCAPE)) {
    const key = `${kind}${name}`;
    const found = tables.get(key) ?? ranges(`\\${kind}{${name}}`);
    if (found !== undefined) tables.set(key, found);
  }
  return tables.size === 0 ? undefined : `(${teach})(${JSON.stringify(Object.fromEntries(tables))});`;
}

/** Returns what an escape stands for as the inside of a class, such as `\u{41}-\u{5a}`; nothing for an unknown name. */
function ranges(escape: string): string | undefined {
  let all: RegExp;
  try {
    all = new RegExp(`${escape}+`, "gu");
  } catch {
    return undefined;
  }
  const parts: string[] = [];
  for (const [first, last] of [[0, 0xd7ff], [0xd800, 0xdfff], [0xe000, LAST]] as const) {
    // Halves of letters are looked at one by one: side by side they would make whole ones.
    if (first === 0xd800) {
      if (new RegExp(`^${escape}$`, "u").test("\ud800")) parts.push(span(first, last));
      continue;
    }
    for (const [text] of letters(first, last).matchAll(all)) {
      const from = text.codePointAt(0)!;
      parts.push(span(from, from + [...text].length - 1));
    }
  }
  return parts.join("");
}

function letters(first: number, last: number): string {
  const pieces: string[] = [];
  for (let at = first; at <= last; at += 0x1000) {
    const length = Math.min(0x1000, last - at + 1);
    pieces.push(String.fromCodePoint(...Array.from({ length }, (_, index) => at + index)));
  }
  return pieces.join("");
}

function span(from: number, to: number): string {
  const letter = (code: number) => `\\u{${code.toString(16)}}`;
  return from === to ? letter(from) : `${letter(from)}-${letter(to)}`;
}

/** Runs in the sandbox, before everything else: nothing of this module is there. */
function teach(tables: Record<string, string>): void {
  const spellOut = (source: string, nested: boolean) => {
    let depth = 0;
    return source.replace(/\\([pP])\{([^}]*)\}|\\[^]|[[\]]/g, (text, kind?: string, name?: string) => {
      if (text === "[") depth = nested ? depth + 1 : 1;
      if (text === "]") depth = nested ? depth - 1 : 0;
      const inside = kind === undefined ? undefined : tables[`${kind}${name}`];
      if (inside === undefined) return text;
      return depth > 0 && !nested ? inside : `[${inside}]`;
    });
  };
  const understood = ([pattern, flags, ...rest]: unknown[]) => {
    const unicode = typeof pattern === "string" && /[uv]/.test(String(flags ?? ""));
    return [unicode ? spellOut(pattern, String(flags).includes("v")) : pattern, flags, ...rest];
  };
  globalThis.RegExp = new Proxy(RegExp, {
    construct: (native, args, target) => Reflect.construct(native, understood(args), target),
    apply: (native, self, args) => Reflect.apply(native, self, understood(args)),
  });
}
