// Formats the output of `console.table`.
import { inspect } from "./inspect.js";

const MAX_ROWS = 1000;
const VALUES = "Values";

/** Returns a text table with rows and columns; undefined if `data` is not an object. */
export function table(data: unknown, wanted?: readonly string[]): string | undefined {
  if (typeof data !== "object" || data === null) return undefined;
  const rows = Object.entries(data).slice(0, MAX_ROWS);
  const isRecord = (value: unknown): value is object => typeof value === "object" && value !== null;
  const columns = wanted ?? [...new Set(rows.flatMap(([, row]) => (isRecord(row) ? Object.keys(row) : [])))];
  const hasValues = rows.some(([, row]) => !isRecord(row));
  const head = ["(index)", ...columns, ...(hasValues ? [VALUES] : [])];
  const body = rows.map(([index, row]) => [
    index,
    ...columns.map((column) =>
      isRecord(row) && Object.hasOwn(row, column) ? inspect((row as Record<string, unknown>)[column], { depth: 0 }) : "",
    ),
    ...(hasValues ? [isRecord(row) ? "" : inspect(row)] : []),
  ]);
  const widths = head.map((title, at) => Math.max(title.length, ...body.map((row) => row[at]!.length)) + 2);
  const rule = (left: string, middle: string, right: string): string =>
    left + widths.map((width) => "─".repeat(width)).join(middle) + right;
  const line = (cells: string[]): string => `│${cells.map((cell, at) => ` ${cell.padEnd(widths[at]! - 1)}`).join("│")}│`;
  return [rule("┌", "┬", "┐"), line(head), rule("├", "┼", "┤"), ...body.map(line), rule("└", "┴", "┘")].join("\n");
}
