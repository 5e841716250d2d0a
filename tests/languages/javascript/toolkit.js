import { write } from "kitbag:toolkit/log@0.1.0";

const CODES =
  ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..".split(" ");
const LETTERS = new Map(CODES.map((code, index) => [String.fromCharCode(65 + index), code]));
const unset = undefined;
const input = {
  type: "object",
  properties: { text: { type: "string", minLength: 1, description: "Letters and spaces" } },
  required: ["text"],
};

export const tools = {
  describe() {
    return {
      id: "morse",
      name: "Morse code",
      description: "Writes text in Morse code.",
      icon: "📡",
      version: "1.0.0",
      author: unset,
      tools: [
        {
          name: "encode",
          title: unset,
          description: "Writes text in Morse code.",
          inputSchema: JSON.stringify(input),
          outputSchema: unset,
          annotations: { readOnlyHint: true, destructiveHint: unset, idempotentHint: unset, openWorldHint: false },
          mutating: false,
          alwaysOn: false,
        },
      ],
      secrets: [],
      egress: [],
      scopes: [],
      config: [],
      visibility: "shared",
      auth: unset,
    };
  },

  call({ tool, arguments: json }) {
    const { text } = JSON.parse(json);
    write([JSON.stringify(tool), JSON.stringify({ length: text.length })]);
    const words = text.toUpperCase().split(/\s+/);
    const encoded = words.map((word) => [...word].map(code).join(" "));
    return { text: encoded.join(" / "), structured: unset, content: [] };
  },
};

function code(letter) {
  const code = LETTERS.get(letter);
  if (code === undefined) {
    throw { tag: "tool-error", val: { message: `There is no code for ${letter}.`, retryable: false, data: unset } };
  }
  return code;
}
