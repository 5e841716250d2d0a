export type Counts = Record<
  "words" | "characters" | "characters_without_spaces" | "bytes" | "lines" | "sentences" | "paragraphs",
  number
>;

export function countsOf(text: string): Counts;
export function summaryOf(counts: Counts): string;
