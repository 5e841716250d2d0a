// What `text__count` does, in JavaScript: the same code for the toolkit and for the Node server that it is
// measured against. It knows the letters of European languages.

const encoder = new TextEncoder();

const LINE_FEED = 10;
const isSpace = (code) => code === 32 || (code >= 9 && code <= 13) || code === 0xa0;
const isInWord = (code) =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 || code >= 0xc0;
const isApostrophe = (code) => code === 39 || code === 0x2019;
const endsSentence = (code) => code === 46 || code === 33 || code === 63;
/** The second half of a letter beyond 16 bits, or an accent: part of the character before. */
const continues = (code) => (code >= 0xdc00 && code <= 0xdfff) || (code >= 0x300 && code <= 0x36f);

/** Counts a text by every measure. */
export function countsOf(text) {
  let [words, characters, spaces, lines, sentences, paragraphs] = [0, 0, 0, 0, 0, 0];
  let [inWord, inLine, inSentence, inParagraph, lineIsEmpty] = [false, false, false, false, true];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (continues(code)) continue;
    characters += 1;
    if (!inLine) lines += 1;
    inLine = code !== LINE_FEED;
    if (isSpace(code)) {
      spaces += 1;
    } else {
      if (!inParagraph) paragraphs += 1;
      inParagraph = true;
      lineIsEmpty = false;
    }
    if (code === LINE_FEED) {
      if (lineIsEmpty) inParagraph = false;
      lineIsEmpty = true;
    }
    const goesOn = inWord && isApostrophe(code) && isInWord(text.charCodeAt(at + 1));
    if (isInWord(code) && !inWord) words += 1;
    inWord = isInWord(code) || goesOn;
    if (endsSentence(code)) inSentence = false;
    else if (!isSpace(code) && !inSentence) {
      sentences += 1;
      inSentence = true;
    }
  }
  return {
    words,
    characters,
    characters_without_spaces: characters - spaces,
    bytes: encoder.encode(text).length,
    lines,
    sentences,
    paragraphs,
  };
}

/** Says the same in words. */
export function summaryOf(counts) {
  return (
    `words: ${counts.words}, characters: ${counts.characters} (${counts.characters_without_spaces} without spaces), ` +
    `lines: ${counts.lines}, sentences: ${counts.sentences}, paragraphs: ${counts.paragraphs}`
  );
}
