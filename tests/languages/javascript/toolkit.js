import { write } from "kitbag:toolkit/log@0.2.0";

const CODES =
  ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..".split(" ");
const LETTERS = new Map(CODES.map((code, index) => [String.fromCharCode(65 + index), code]));
const input = {
  type: "object",
  properties: { text: { type: "string", minLength: 1, description: "Letters and spaces" } },
  required: ["text"],
};

const manifest = {
  id: "morse",
  name: "Morse code",
  description: "Writes text in Morse code.",
  icon: "📡",
  version: "1.0.0",
  visibility: "shared",
  tools: [{ name: "encode", description: "Writes text in Morse code.", inputSchema: input }],
};

export const tools = {
  describe() {
    return JSON.stringify(manifest);
  },

  call({ tool, arguments: json }) {
    const { text } = JSON.parse(json);
    write([JSON.stringify(tool), JSON.stringify({ length: text.length })]);
    const words = text.toUpperCase().split(/\s+/);
    const encoded = words.map((word) => [...word].map(code).join(" "));
    return { text: encoded.join(" / "), structured: undefined, content: [] };
  },
};

function code(letter) {
  const code = LETTERS.get(letter);
  if (code === undefined) {
    throw { tag: "tool-error", val: { message: `There is no code for ${letter}.`, retryable: false, data: undefined } };
  }
  return code;
}
