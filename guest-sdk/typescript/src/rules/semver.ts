const POSITIONS = ["major version number", "minor version number", "patch version number"] as const;
const U64_MAX = 18446744073709551615n;

/** Says why a text is no semantic version (2.0.0), or nothing when it is one. */
export function versionProblem(text: string): string | undefined {
  if (text === "") return "empty string, expected a semver version";
  let rest = text;
  for (const [index, position] of POSITIONS.entries()) {
    const digits = /^[0-9]*/.exec(rest)![0];
    if (digits === "") {
      if (rest === "") return `unexpected end of input while parsing ${position}`;
      return `unexpected character ${quoted(rest)} while parsing ${position}`;
    }
    if (digits.length > 1 && digits.startsWith("0")) return `invalid leading zero in ${position}`;
    if (BigInt(digits) > U64_MAX) return `value of ${position} exceeds u64::MAX`;
    rest = rest.slice(digits.length);
    if (index === 2) break;
    if (rest === "") return `unexpected end of input while parsing ${position}`;
    if (!rest.startsWith(".")) return `unexpected character ${quoted(rest)} after ${position}`;
    rest = rest.slice(1);
  }
  let after: string = POSITIONS[2];
  if (rest.startsWith("-")) {
    after = "pre-release identifier";
    const identifiers = /^[0-9A-Za-z.-]*/.exec(rest.slice(1))![0];
    const problem = identifiersProblem(identifiers, after);
    if (problem !== undefined) return problem;
    rest = rest.slice(1 + identifiers.length);
  }
  if (rest.startsWith("+")) {
    after = "build metadata";
    const identifiers = /^[0-9A-Za-z.-]*/.exec(rest.slice(1))![0];
    const problem = identifiersProblem(identifiers, after);
    if (problem !== undefined) return problem;
    rest = rest.slice(1 + identifiers.length);
  }
  return rest === "" ? undefined : `unexpected character ${quoted(rest)} after ${after}`;
}

function identifiersProblem(identifiers: string, position: string): string | undefined {
  for (const segment of identifiers.split(".")) {
    if (segment === "") return `empty identifier segment in ${position}`;
    const leadingZero = /^0[0-9]+$/.test(segment);
    if (position === "pre-release identifier" && leadingZero) return `invalid leading zero in ${position}`;
  }
  return undefined;
}

function quoted(rest: string): string {
  return `'${String.fromCodePoint(rest.codePointAt(0)!)}'`;
}
