// The tool of toolkits/text that the benchmark calls, written in TypeScript.
import { defineToolkit, tool, z } from "kitbag/extend/toolkit";

import { countsOf, summaryOf } from "./counts.js";

const count = z.int().min(0);

export default defineToolkit({
  id: "script",
  name: "Text utilities in TypeScript",
  description: "Counts text exactly, where a model can only estimate.",
  icon: "✂️",
  version: "1.0.0",
  visibility: "shared",
  tools: [
    tool({
      name: "count",
      title: "Count words",
      description: "Counts the words, characters, lines, sentences and paragraphs of a text.",
      input: z.object({ text: z.string().describe("The text to count.") }),
      output: z.object({
        words: count,
        characters: count,
        characters_without_spaces: count,
        bytes: count,
        lines: count,
        sentences: count,
        paragraphs: count,
      }),
      annotations: { idempotentHint: true },
      handler: async ({ text }) => {
        const counts = countsOf(text);
        return { text: summaryOf(counts), structured: counts };
      },
    }),
    tool({
      name: "wait",
      description: "Waits, for the measurement of what a call holds meanwhile.",
      input: z.object({ wait_ms: z.int().min(0).max(60_000) }),
      handler: async ({ wait_ms }) => {
        await new Promise((resolve) => setTimeout(resolve, wait_ms));
        return "waited";
      },
    }),
  ],
});
