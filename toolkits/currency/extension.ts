// Exchange rates of the European Central Bank, from frankfurter.dev, without an API key. Each tool also
// returns a structured value; the home currency is a setting of the user.
import { defineToolkit, tool, z, ToolError, type ToolContext } from "kitbag/extend/toolkit";

const Rates = z.object({ base: z.string(), date: z.string(), rates: z.record(z.string(), z.number()) });

const currency = z
  .string()
  .regex(/^[A-Za-z]{3}$/, "must be a currency code such as EUR")
  .transform((code) => code.toUpperCase());

async function ratesOf(ctx: ToolContext, day: string, base: string, symbols: string[]) {
  const url = new URL(`https://api.frankfurter.dev/v1/${day}`);
  url.searchParams.set("base", base);
  if (symbols.length > 0) url.searchParams.set("symbols", symbols.join(","));
  return ctx.fetchJson(url, {
    schema: Rates,
    errorMap: (res) =>
      res.status === 404 || res.status === 422
        ? new ToolError(`There are no rates of ${[base, ...symbols].join(" and ")}${day === "latest" ? "" : ` on ${day}`}.`)
        : undefined,
  });
}

export default defineToolkit({
  id: "currency",
  name: "Currency",
  description: "Converts amounts at the rates of the European Central Bank.",
  icon: "💱",
  version: "1.0.0",
  author: "Kitbag",
  visibility: "shared",
  egress: ["api.frankfurter.dev"],
  config: {
    home: { type: "string", label: "Home currency", description: "Three letters, such as EUR.", default: "EUR" },
    decimals: { type: "number", label: "Decimals of amounts", default: 2 },
  },
  tools: [
    tool({
      name: "convert",
      title: "Convert an amount",
      description: "Converts an amount from one currency into others, today or on a day in the past.",
      input: z.object({
        amount: z.number().positive(),
        from: currency.describe("Currency code, such as USD"),
        to: z.array(currency).min(1).max(10).optional().describe("Currency codes; by default the user's home currency"),
        date: z.iso.date().optional().describe("A day since 1999-01-04; by default the newest rates"),
      }),
      output: z.object({
        date: z.string(),
        from: z.string(),
        amount: z.number(),
        converted: z.array(z.object({ currency: z.string(), amount: z.number(), rate: z.number() })),
      }),
      annotations: { openWorldHint: true, idempotentHint: true },
      alwaysOn: true,
      handler: async ({ amount, from, to, date }, ctx) => {
        const wanted = (to ?? [String(ctx.config.home).toUpperCase()]).filter((code) => code !== from);
        if (wanted.length === 0) throw new ToolError(`The amount is in ${from} already.`);
        const decimals = Number(ctx.config.decimals);
        const found = await ratesOf(ctx, date ?? "latest", from, wanted);
        const converted = Object.entries(found.rates).map(([currency, rate]) => ({
          currency,
          amount: Number((amount * rate).toFixed(decimals)),
          rate,
        }));
        const text = converted.map((it) => `${amount} ${from} = ${it.amount.toFixed(decimals)} ${it.currency} (${found.date})`);
        return { text: text.join("\n"), structured: { date: found.date, from, amount, converted } };
      },
    }),
    tool({
      name: "compare",
      title: "Compare two days",
      description: "Says how far a currency has moved against another between two days.",
      input: z.object({ currency, against: currency.optional(), since: z.iso.date(), until: z.iso.date().optional() }),
      output: z.object({ currency: z.string(), against: z.string(), before: z.number(), after: z.number(), percent: z.number() }),
      annotations: { openWorldHint: true, idempotentHint: true },
      handler: async ({ currency, against, since, until }, ctx) => {
        const other = against ?? String(ctx.config.home).toUpperCase();
        if (other === currency) throw new ToolError("These are the same currency.");
        const [first, last] = await Promise.all([
          ratesOf(ctx, since, currency, [other]),
          ratesOf(ctx, until ?? "latest", currency, [other]),
        ]);
        const [before, after] = [first.rates[other], last.rates[other]];
        if (before === undefined || after === undefined) throw new ToolError(`There are no rates of ${currency} in ${other}.`);
        const percent = Number(((after / before - 1) * 100).toFixed(2));
        const text = `1 ${currency}: ${before} ${other} on ${first.date}, ${after} ${other} on ${last.date} (${percent > 0 ? "+" : ""}${percent} %)`;
        return { text, structured: { currency, against: other, before, after, percent } };
      },
    }),
  ],
});
