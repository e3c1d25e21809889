/**
 * Whether an error of a command that works on rows is one of the language: then a row lacks a column, or has a value of
 * another kind than rkat writes.
 */
export function isOfRows(error: unknown): boolean {
  return error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError;
}
