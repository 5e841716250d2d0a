// The component maker writes a script of its own that carries values between the toolkit and the host.
// Here it is made quicker, and told to go through a call while the component is made.
//
// Invariant: where the script is not the one that is known here, it stays as it is. Components are slower
// then, and otherwise the same.

/** Where the toolkit finds what goes through calls; gone before the component is done. */
export const REHEARSAL = "kitbag:rehearsal";

/** Goes through a string letter by letter, in an interpreter. */
const ENCODER = /^function _utf8AllocateAndEncode\(s, realloc, memory\) \{\n[\s\S]*?\n\}\n/m;

/** The same in two steps of the engine. */
const QUICK_ENCODER = `function _utf8AllocateAndEncode(s, realloc, memory) {
  if (typeof s !== 'string') {
    throw new TypeError('expected a string, received [' + typeof s + ']');
  }
  if (s.length === 0) { return { ptr: 1, len: 0 }; }
  const bytes = TEXT_ENCODER_UTF8.encode(s);
  const len = bytes.length;
  const ptr = realloc(0, 0, 1, len);
  new Uint8Array(memory.buffer, ptr, len).set(bytes);
  return { ptr, len };
}
`;

/** The export, named after the version of the contract. */
const CALL = /^async function (export_tools_(\w+)\$call)\((.*)\) \{/m;

/** Strings of an invocation, each a place and a length; then the place of the result. */
const PARAMETER_COUNT = 9;
/** Bytes of a result, at least. */
const RESULT_BYTES = 64;

/** Returns the script with both changes. */
export function quickGlue(script: string): string {
  const usesLetters = /\.codepoints\b/.test(script);
  const quick = usesLetters ? script : script.replace(ENCODER, () => QUICK_ENCODER);
  const call = CALL.exec(quick);
  const [, name, version = "", parameters = ""] = call ?? [];
  const callee = `tools${version.replaceAll("_", "")}Call`;
  if (parameters.split(",").length !== PARAMETER_COUNT || !quick.includes(`let ${callee}`)) return quick;
  return `${quick}
contentGlobal[${JSON.stringify(REHEARSAL)}] = async (callee, invocation) => {
  const { tool, arguments: args, userId, config } = invocation;
  const result = $realloc(0, 0, 8, ${RESULT_BYTES});
  const parameters = [tool, args, userId, config].flatMap((text) => {
    const { ptr, len } = _utf8AllocateAndEncode(text, $realloc, $memory);
    return [ptr, len];
  });
  ${callee} = callee;
  try {
    await ${name}(...parameters, result);
  } finally {
    $dealloc(result, ${RESULT_BYTES}, 8);
  }
};
`;
}
