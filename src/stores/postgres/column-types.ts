import { fromPostgres } from "./portable-text.ts";

/**
 * How rkat reads PostgreSQL's columns, whatever the parsers of the pool's owner are: numbers as
 * numbers, bytes as bytes, everything else as text. rkat stores no integer beyond 2^53.
 */
export const COLUMN_TYPES = {
  getTypeParser: (oid: number) => PARSERS[oid] ?? fromPostgres,
};

/** By the number of the type in `pg_type`, which is the same on every server. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t", // bool
  17: bytesOf, // bytea
  20: Number, // int8
  21: Number, // int2
  23: Number, // int4
  26: Number, // oid
  700: Number, // float4
  701: Number, // float8
  1700: Number, // numeric
};

/** The format that PostgreSQL uses since version 9: `\x` and hexadecimal digits. */
function bytesOf(text: string): Uint8Array {
  return Buffer.from(text.slice(2), "hex");
}
