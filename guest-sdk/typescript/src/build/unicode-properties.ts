// The sandbox's engine knows no \p{…} in regular expressions. What a bundle names of it is worked out here,
// where Node.js knows it, and travels with the bundle.

/** As it stands in a bundle: in the text of a regular expression, or in a string that becomes one. */
const ESCAPE = /\\{1,2}([pP])\{([\w=]+)\}/g;
/** Surrogates: the halves of letters beyond the first 65,536. */
const SURROGATES = [0xd800, 0xdfff] as const;
/** All other letters. */
const SCALAR_VALUES = [[0, 0xd7ff], [0xe000, 0x10ffff]] as const;

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

/** Returns the \p{…} of a text that no table can stand for: unknown names, and properties of whole strings. */
export function unknownProperties(code: string): string[] {
  const escapes = [...code.matchAll(ESCAPE)].map(([, kind, name]) => `\\${kind}{${name}}`);
  return [...new Set(escapes)].filter((escape) => expression(escape) === undefined);
}

/** Returns what an escape stands for as the inside of a class, such as `\u{41}-\u{5a}`; nothing for an unknown name. */
function ranges(escape: string): string | undefined {
  const all = expression(`${escape}+`);
  if (all === undefined) return undefined;
  const parts: string[] = [];
  for (const [first, last] of SCALAR_VALUES) {
    for (const [text] of letters(first, last).matchAll(all)) {
      const from = text.codePointAt(0)!;
      parts.push(span(from, from + [...text].length - 1));
    }
  }
  // Side by side, halves would make whole letters; all of them have the same properties.
  if (expression(`^${escape}$`)!.test("\ud800")) parts.push(span(...SURROGATES));
  return parts.join("");
}

function expression(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "gu");
  } catch {
    return undefined;
  }
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

/**
 * Runs in the sandbox, before everything else. It goes there as its own text (Function.prototype.toString):
 * nothing else of this module may be named in it.
 */
function teach(tables: Record<string, string>): void {
  const spelled = new Map<string, string>();

  const spellOut = (source: string, sets: boolean) => {
    let depth = 0;
    return source.replace(/\\([pP])\{([^}]*)\}|\\[^]|[[\]]/g, (text, kind?: string, name?: string) => {
      if (text === "[") depth = sets ? depth + 1 : 1;
      if (text === "]") depth = sets ? depth - 1 : 0;
      const inside = kind === undefined ? undefined : tables[`${kind}${name}`];
      if (inside === undefined) return text;
      return depth > 0 && !sets ? inside : `[${inside}]`;
    });
  };
  const understood = (args: unknown[]) => {
    const [pattern, flags] = args;
    if (typeof pattern !== "string" || typeof flags !== "string") return args;
    if (!/\\p\{/i.test(pattern) || !/[uv]/.test(flags)) return args;
    const key = `${flags}/${pattern}`;
    const source = spelled.get(key) ?? spellOut(pattern, flags.includes("v"));
    spelled.set(key, source);
    return [source, flags];
  };
  const taught: RegExpConstructor = new Proxy(RegExp, {
    construct: (native, args, target) => Reflect.construct(native, understood(args), target),
    apply: (native, self, args) => {
      const [pattern, flags] = args as unknown[];
      // The native one would make a copy: the constructor that it finds is not itself.
      if (flags === undefined && pattern instanceof native && pattern.constructor === taught) return pattern;
      return Reflect.apply(native, self, understood(args));
    },
  });
  RegExp.prototype.constructor = taught;
  globalThis.RegExp = taught;
}
