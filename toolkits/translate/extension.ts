// Translation by DeepL. The API key belongs to the user: a secret that only the toolkit may read.
import { defineToolkit, tool, z, ToolError, type ToolContext } from "kitbag/extend/toolkit";

const Translations = z.object({
  translations: z.array(z.object({ text: z.string(), detected_source_language: z.string() })).min(1),
});

const Usage = z.object({ character_count: z.number(), character_limit: z.number() });

const language = z
  .string()
  .regex(/^[a-z]{2}(-[a-z]{2,4})?$/i, "must be a language code such as de or pt-BR");

/** Calls the API of DeepL. Keys of the free plan end in ":fx" and use a separate host. */
async function deepl<S extends z.ZodType>(ctx: ToolContext, path: string, schema: S, body?: object): Promise<z.output<S>> {
  const key = await ctx.requireSecret("DEEPL_API_KEY");
  const host = key.endsWith(":fx") ? "api-free.deepl.com" : "api.deepl.com";
  return ctx.fetchJson(`https://${host}/v2/${path}`, {
    schema,
    init: {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `DeepL-Auth-Key ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    },
    errorMap: (res, text) => {
      switch (res.status) {
        case 403:
          return new ToolError("DeepL does not accept the API key. Set it anew with: kitbag secret set translate DEEPL_API_KEY --from-stdin");
        case 456:
          return new ToolError("This month's characters are used up at DeepL.");
        case 400:
          return new ToolError("DeepL does not know one of the languages.", { data: { answer: text } });
        default:
          return undefined;
      }
    },
  });
}

export default defineToolkit({
  id: "translate",
  name: "Translate",
  description: "Translates text between some thirty languages, by DeepL.",
  icon: "🌍",
  version: "1.0.0",
  author: "Kitbag",
  visibility: "shared",
  secrets: ["DEEPL_API_KEY"],
  egress: ["api.deepl.com", "api-free.deepl.com"],
  config: {
    formality: {
      type: "select",
      label: "Form of address",
      description: "For languages that have two, such as German and French.",
      options: ["default", "prefer_more", "prefer_less"],
      default: "default",
    },
  },
  tools: [
    tool({
      name: "translate",
      title: "Translate text",
      description: "Translates text into another language. The source language is found out unless it is given.",
      input: z.object({
        text: z.string().min(1).max(20_000).describe("What to translate"),
        to: language.describe("Language code of the result, such as de, en-GB or pt-BR"),
        from: language.optional().describe("Language code of the text"),
      }),
      annotations: { openWorldHint: true },
      alwaysOn: true,
      handler: async ({ text, to, from }, ctx) => {
        const { translations } = await deepl(ctx, "translate", Translations, {
          text: [text],
          target_lang: to.toUpperCase(),
          ...(from !== undefined && { source_lang: from.slice(0, 2).toUpperCase() }),
          formality: ctx.config.formality,
        });
        ctx.log("translated", { characters: text.length, to });
        return translations[0]!.text;
      },
    }),
    tool({
      name: "usage",
      title: "Characters left",
      description: "Says how many characters may still be translated this month.",
      input: z.object({}),
      handler: async (_, ctx) => {
        const { character_count: used, character_limit: limit } = await deepl(ctx, "usage", Usage);
        return `${used} of ${limit} characters used, ${Math.max(0, limit - used)} left.`;
      },
    }),
  ],
});
