// `text__count` in JavaScript: the same code for the toolkit and for the Node server that it is compared
// with. It is made for letters of European languages.

const encoder = new TextEncoder();

const [SPACE, WORD, APOSTROPHE, STOP] = [1, 2, 4, 8];
/** Kinds of the characters below 0x100. */
const KINDS = Uint8Array.from({ length: 0x100 }, (_, code) => kindOf(String.fromCharCode(code)));
const LINE_FEED = 10;

function kindOf(letter) {
  if (letter.trim() === "") return SPACE;
  if (/[\wÀ-ÿ]/.test(letter)) return WORD;
  if (letter === "'") return APOSTROPHE;
  return ".!?".includes(letter) ? STOP : 0;
}

/** Counts words, characters, lines and so on. */
export function countsOf(text) {
  let words = 0;
  let characters = 0;
  let spaces = 0;
  let lines = 0;
  let sentences = 0;
  let paragraphs = 0;
  let inWord = false;
  let inLine = false;
  let inSentence = false;
  let inParagraph = false;
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // A low surrogate or a combining accent is part of the character before.
    if (code >= 0x300 && (code <= 0x36f || (code >= 0xdc00 && code <= 0xdfff))) continue;
    const kind = code < 0x100 ? KINDS[code] : code === 0x2019 ? APOSTROPHE : WORD;
    characters += 1;
    if (!inLine) {
      lines += 1;
      inLine = true;
    }
    if (kind === SPACE) {
      spaces += 1;
      inWord = false;
      if (code === LINE_FEED) {
        inLine = false;
        if (!inText) inParagraph = false;
        inText = false;
      }
      continue;
    }
    inText = true;
    if (!inParagraph) {
      paragraphs += 1;
      inParagraph = true;
    }
    if (kind === WORD) {
      if (!inWord) words += 1;
      inWord = true;
    } else if (kind !== APOSTROPHE) {
      inWord = false;
    }
    if (kind === STOP) {
      inSentence = false;
    } else if (!inSentence) {
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

/** The counts as a line of text. */
export function summaryOf(counts) {
  return (
    `words: ${counts.words}, characters: ${counts.characters} (${counts.characters_without_spaces} without spaces), ` +
    `lines: ${counts.lines}, sentences: ${counts.sentences}, paragraphs: ${counts.paragraphs}`
  );
}
