export interface JsonLimits {
  /** Deeper JSON would exhaust the stack of recursive functions. */
  readonly depth: number;
  /** Every value takes memory, and an empty list is two bytes: 30 MB of them would be a gigabyte. */
  readonly values: number;
}

const codeOf = (character: string) => character.charCodeAt(0);
const QUOTE = codeOf('"');
const BACKSLASH = codeOf("\\");
const COMMA = codeOf(",");
const COLON = codeOf(":");
const LIST = codeOf("[");
const LIST_END = codeOf("]");
const OBJECT = codeOf("{");
const OBJECT_END = codeOf("}");

/**
 * Which limit a JSON text breaks, found in one pass over its bytes, before it is parsed. A text that
 * is not JSON breaks none, or any.
 */
export function brokenLimit(json: Uint8Array, limits: JsonLimits): keyof JsonLimits | undefined {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (byte === COMMA || byte === COLON) values += 1;
    else if (byte === LIST || byte === OBJECT) {
      depth += 1;
      values += 1;
    } else if (byte === LIST_END || byte === OBJECT_END) depth -= 1;
    if (depth > limits.depth) return "depth";
    if (values > limits.values) return "values";
  }
  return undefined;
}

function endOfString(json: Uint8Array, start: number): number {
  let at = start;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
