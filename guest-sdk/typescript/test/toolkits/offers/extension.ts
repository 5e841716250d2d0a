// Prompts, resources and completions of each kind.
import { defineToolkit, prompt, resource, tool, ToolError, z } from "kitbag/extend/toolkit";

export default defineToolkit({
  id: "shelf",
  name: "Shelf",
  description: "Has prompts and resources.",
  icon: "📚",
  version: "1.0.0",
  visibility: "shared",
  secrets: ["API_KEY"],
  config: { words: { type: "number", label: "Words", default: 100 } },
  tools: [
    tool({
      name: "link",
      description: "Links to a resource.",
      input: z.object({}),
      handler: () => ({ text: "", content: [{ type: "resource_link", uri: "books/7", name: "book" }] }),
    }),
  ],
  prompts: [
    prompt({
      name: "review",
      title: "Review",
      description: "Asks for a review.",
      arguments: {
        book: { title: "Book", description: "Its title", required: true, complete: async (typed, _ctx, { tone = "any" }) => [`${typed}, ${tone}`] },
        tone: { values: ["kind", "strict"] },
      },
      handler: async ({ book, tone = "kind" }, ctx) => ({
        messages: [
          { role: "user", content: `Review ${book}, ${tone}, in ${String(ctx.config.words)} words.` },
          { role: "assistant", content: { type: "text", text: "Yes." } },
          { role: "user", content: { type: "resource_link", uri: "books/7", name: "book" } },
          { role: "user", content: { type: "image", data: new Uint8Array([1, 2]), mimeType: "image/png" } },
        ],
      }),
    }),
    prompt({ name: "plain", description: "Is a text.", handler: () => "Hello." }),
    prompt({
      name: "fail",
      description: "Fails.",
      handler: () => {
        throw new ToolError("There is no such book.");
      },
    }),
    prompt({ name: "wrong", description: "Returns what is no message.", handler: (() => ({ messages: [{ role: "system", content: "x" }] })) as never }),
    prompt({ name: "secret", description: "Says a secret.", handler: async (_args, ctx) => ctx.requireSecret("API_KEY") }),
  ],
  resources: [
    resource({
      name: "book",
      description: "A book.",
      uri: "books/{isbn}",
      mimeType: "text/markdown",
      variables: { isbn: { values: ["71", "72", "8"] } },
      handler: ({ isbn }) => `# ${isbn}`,
    }),
    resource({ name: "cover", description: "A picture.", uri: "cover", handler: async () => ({ blob: new Uint8Array([0, 255]), mimeType: "image/png" }) }),
    resource({ name: "all", description: "All books.", uri: "books", handler: async () => ({ text: "[]", mimeType: "application/json" }) }),
  ],
});
