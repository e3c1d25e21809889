/** One argument of a tool call, as a part of the kind of call. */
export interface ArgumentShape {
  readonly name: string;
  /** The command, folder or host in it. */
  readonly value?: string;
}

const ARGUMENTS_MAX = 5;
const TAG = "argument:";

/**
 * The kind of a tool call: the names of its arguments, and the beginning of a command, path or address.
 *
 * The model wrote the arguments, perhaps because a document told it to. Only short texts that look
 * like names may get from here into a rule.
 */
function callShape(args: unknown): readonly ArgumentShape[] {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return [];
  return Object.entries(args)
    .filter(([name]) => /^[a-z][a-z0-9_]{0,29}$/i.test(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .slice(0, ARGUMENTS_MAX)
    .map(([name, value]) => {
      const beginning = typeof value === "string" ? beginningOf(name, value.trim()) : undefined;
      return { name, ...(beginning === undefined ? {} : { value: beginning }) };
    });
}

/** The kind of a call, as tags of a correction. */
export function shapeTags(args: unknown): readonly string[] {
  return callShape(args).map(({ name, value }) =>
    value === undefined ? `${TAG}${name}` : `${TAG}${name}=${value}`,
  );
}

/** The inverse of `shapeTags`. */
export function shapeOfTags(tags: readonly string[]): readonly ArgumentShape[] {
  return tags
    .filter((tag) => tag.startsWith(TAG))
    .map((tag) => {
      const [name = "", value] = tag.slice(TAG.length).split(/=(.*)/s);
      return { name, ...(value === undefined ? {} : { value }) };
    });
}

function beginningOf(name: string, value: string): string | undefined {
  if (/^(?:command|cmd|script|bash|shell|code)$/i.test(name)) {
    return /^[a-z][a-z0-9._-]{0,19}(?: [a-z][a-z0-9-]{0,14}(?![^\s]))?(?![^\s])/.exec(value)?.[0];
  }
  if (/path|file|folder|dir/i.test(name)) return /^\.?\/?[a-z0-9._-]{1,30}\//i.exec(value)?.[0];
  if (/url|uri|host/i.test(name)) {
    return /^(?:https?:\/\/)?([a-z0-9.-]{1,60})(?:[:/]|$)/i.exec(value)?.[1];
  }
  return undefined;
}
