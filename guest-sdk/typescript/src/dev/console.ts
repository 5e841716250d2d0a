/** Maximum number of characters shown of one event. */
const MAX_LENGTH = 4_000;

/** Output for people. */
export interface Console {
  line(text: string): void;
}

/** Standard error. Control characters are escaped, because the text may come from the toolkit or a server. */
export const terminal: Console = {
  line: (text) => {
    const shown = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)} …` : text;
    const plain = shown.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (it) => `\\x${it.charCodeAt(0).toString(16).padStart(2, "0")}`);
    process.stderr.write(`${plain}\n`);
  },
};
