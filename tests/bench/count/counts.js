// What `text__count` does, in JavaScript: the same code for the toolkit and for the Node server that it is
// measured against.

// Letters are listed: the sandbox knows no `\p{…}`, which would make this another program there.
const WORDS = /[\w\u00c0-\u1fff\u2c00-\ud7ff]+(?:['’.][\w\u00c0-\u1fff\u2c00-\ud7ff]+)*/g;
/** A letter with its accents. */
const CHARACTERS = /\r\n|[^][\u0300-\u036f\u200d\ufe0f]*/gu;
const SENTENCES = /[^.!?]*[^.!?\s][^.!?]*(?:[.!?]+|$)/g;

const encoder = new TextEncoder();

/** Counts a text by every measure. */
export function countsOf(text) {
  const characters = text.match(CHARACTERS) ?? [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return {
    words: text.match(WORDS)?.length ?? 0,
    characters: characters.length,
    characters_without_spaces: characters.filter((character) => character.trim() !== "").length,
    bytes: encoder.encode(text).length,
    lines: lines.length,
    sentences: text.match(SENTENCES)?.length ?? 0,
    paragraphs: lines.filter((line, at) => line.trim() !== "" && (lines[at - 1] ?? "").trim() === "").length,
  };
}

/** Says the same in words. */
export function summaryOf(counts) {
  return (
    `words: ${counts.words}, characters: ${counts.characters} (${counts.characters_without_spaces} without spaces), ` +
    `lines: ${counts.lines}, sentences: ${counts.sentences}, paragraphs: ${counts.paragraphs}`
  );
}
