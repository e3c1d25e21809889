/** One argument of a tool call, as a part of the kind of call. */
export interface ArgumentShape {
  readonly name: string;
  /** The command, file, host or changed word in it. */
  readonly value?: string;
}

const ARGUMENTS_MAX = 5;
const EDIT_MAX = 2000;
const TAG = "argument:";
/** The argument that stands for the changed word. No tool's argument has a space. */
export const CHANGED_WORD = "changed word";

const COMMAND = /^(?:command|cmd|script|bash|shell|code)$/i;
const PATH = /path|file|folder|dir/i;
const NAME = /^[\w@./-]{1,24}$/;
const FILE = /^(?:\.{0,2}\/)?(?:[\w.@-]{1,40}\/){0,7}[\w.@-]{1,40}$/;

/**
 * The kind of a tool call: the names of its arguments, with the beginning of a command, a path, the host of an
 * address, and the word that an edit changes.
 *
 * The model wrote the arguments, perhaps because a document told it to. Only short texts that look
 * like names may get from here into a rule.
 */
function callShape(args: unknown): readonly ArgumentShape[] {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return [];
  const change = changeIn(args);
  const named = Object.entries(args)
    .filter(([name]) => /^[a-z][a-z0-9_]{0,29}$/i.test(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .slice(0, ARGUMENTS_MAX)
    .map(([name, value]) => {
      const beginning = typeof value === "string" ? beginningOf(name, value.trim()) : undefined;
      return { name, ...(beginning === undefined ? {} : { value: beginning }) };
    });
  return change === undefined ? named : [...named, { name: CHANGED_WORD, value: change }];
}

/**
 * The part that calls have in common. A command is cut at a word, and a path at a folder:
 *
 *     git push origin, git push --force   git push
 *     docs/sdk.md, docs/rest.md           docs/
 */
export function sharedShape(
  shapes: readonly (readonly ArgumentShape[])[],
): readonly ArgumentShape[] {
  const [first = [], ...others] = shapes;
  return first.flatMap(({ name, value }) => {
    const same = others.map((shape) => shape.find((argument) => argument.name === name));
    if (same.includes(undefined)) return [];
    const shared = same.reduce<string | undefined>(
      (sofar, argument) => sharedBeginning(name, sofar, argument?.value),
      value,
    );
    return [{ name, ...(shared === undefined ? {} : { value: shared }) }];
  });
}

function sharedBeginning(
  name: string,
  one: string | undefined,
  other: string | undefined,
): string | undefined {
  if (one === undefined || other === undefined || one === other) return other && one;
  if (!COMMAND.test(name) && !PATH.test(name)) return undefined;
  const pieces = (text: string) => text.split(PATH.test(name) ? /(?<=\/)/ : /(?<= )/);
  const others = pieces(other);
  const end = pieces(one).findIndex((piece, index) => piece.trim() !== others[index]?.trim());
  const shared = pieces(one).slice(0, end < 0 ? undefined : end);
  return shared.join("").trim() || undefined;
}

/** The one word that an edit puts in the place of another: `npm to yarn`. */
function changeIn(args: object): string | undefined {
  const fields = new Map(Object.entries(args));
  const [before, after] = EDITS.map((names) => names.map((name) => fields.get(name))).map(
    (values) => values.find((value) => typeof value === "string"),
  );
  if (typeof before !== "string" || typeof after !== "string") return undefined;
  const [old, fresh] = [wordsOf(before), wordsOf(after)];
  let start = 0;
  while (start < old.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < old.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const [removed, ...more] = old.slice(start, old.length - end);
  const [added, ...others] = fresh.slice(start, fresh.length - end);
  if (more.length > 0 || others.length > 0) return undefined;
  if (![removed, added].every((word) => word !== undefined && NAME.test(word))) return undefined;
  return `${removed} to ${added}`;
}

/** The names that tools have for the text before and after an edit. */
const EDITS = [
  ["old_text", "old_string", "oldText", "old_str", "search"],
  ["new_text", "new_string", "newText", "new_str", "replace"],
] as const;

function wordsOf(text: string): readonly string[] {
  return text.slice(0, EDIT_MAX).match(/[\w@./-]+/g) ?? [];
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
  if (COMMAND.test(name)) {
    return /^[a-z][a-z0-9._-]{0,19}(?: [a-z][a-z0-9-]{0,14}(?![^\s]))?(?![^\s])/.exec(value)?.[0];
  }
  if (PATH.test(name)) {
    return FILE.test(value) ? value : /^\.?\/?[a-z0-9._-]{1,30}\//i.exec(value)?.[0];
  }
  if (/url|uri|host/i.test(name)) {
    return /^(?:https?:\/\/)?([a-z0-9.-]{1,60})(?:[:/]|$)/i.exec(value)?.[1];
  }
  return undefined;
}
