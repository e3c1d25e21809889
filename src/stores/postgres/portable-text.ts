/**
 * PostgreSQL's texts cannot have the character U+0000. It is stored as two characters, U+0001 and "0",
 * and U+0001 as U+0001 and "1".
 */
export function toPostgres(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPostgres);
  if (typeof value !== "string") return value;
  return value.includes(NONE) || value.includes(ESCAPE)
    ? value.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(NONE, `${ESCAPE}0`)
    : value;
}

/** The opposite. */
export function fromPostgres(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replaceAll(`${ESCAPE}0`, NONE).replaceAll(`${ESCAPE}1`, ESCAPE);
}

const NONE = "\0";
const ESCAPE = "\u0001";
