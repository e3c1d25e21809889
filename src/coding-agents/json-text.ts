import { createScanner, getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser";

// Settings of other programs, changed in their text: a part is added or removed, and all other bytes stay
// as they are. Comments and a comma after the last value are kept, because people write them.

/** A text that was put into another one. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** A value in a JSON file: a member of an object, or an item of a list. */
export interface JsonEdit {
  /** The keys to the member, or to the list. */
  readonly path: readonly string[];
  /** Whether the value is added to the list at `path`. */
  readonly isItem?: boolean;
  readonly value: unknown;
  /** The number of keys of the path that were there before. The keys below them were made for the value. */
  readonly kept?: number;
}

/** An error in a JSON text: a clause, and its place. */
export class JsonTextError extends Error {}

/** The values of a text, each with its place. @throws JsonTextError */
export function parseJsonText(text: string): Node {
  const errors: ParseError[] = [];
  const root = treeOf(text, errors);
  if (root && errors.length === 0) return root;
  const line = text.slice(0, errors[0]?.offset ?? text.length).split("\n").length;
  throw new JsonTextError(`it is not JSON (line ${line})`);
}

function treeOf(text: string, errors: ParseError[]): Node | undefined {
  try {
    // A byte order mark stays, and places stay with it.
    return parseTree(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true });
  } catch (error) {
    // The parser calls itself for each level.
    if (error instanceof RangeError) throw new JsonTextError("it is nested too deeply");
    throw error;
  }
}

/** The nodes along a path, as far as they are there. Of two members with one key the last counts. */
export function nodesAlong(root: Node, path: readonly string[]): readonly Node[] {
  const nodes = [root];
  for (const key of path) {
    const last = nodes.at(-1);
    const next = last?.type === "object" && partsOf(last).findLast((each) => keyOf(each) === key);
    if (!next) break;
    nodes.push(...(next.children?.slice(1) ?? []));
  }
  return nodes;
}

/** The members of an object, or the items of a list. */
export function partsOf({ children = [] }: Node): readonly Node[] {
  return children;
}

function keyOf({ children = [] }: Node): unknown {
  return children[0]?.value;
}

const endOf = ({ offset, length }: Node): number => offset + length;

/**
 * The insertion that gives the text this value, and the edit as `withoutJson` takes it.
 *
 * @throws JsonTextError when something else is in its place
 */
export function insertionOf(
  text: string,
  root: Node,
  edit: JsonEdit,
): { readonly insertion: Insertion; readonly edit: JsonEdit } {
  const { path, isItem = false, value } = edit;
  const nodes = nodesAlong(root, path);
  const found = nodes.at(-1) ?? root;
  const depth = nodes.length;
  const insert = (holder: Node, added: (style: Style) => string) => ({
    insertion: inserted(text, holder, added(styleOf(text)), depth),
    edit: { ...edit, kept: depth - 1 },
  });
  if (nodes.length > path.length) {
    if (!isItem || found.type !== "array") {
      throw new JsonTextError(`it has another ${path.join(".")} already`);
    }
    return insert(found, (style) => jsonAt(value, depth, style));
  }
  if (found.type !== "object") {
    const name = path.slice(0, nodes.length - 1).join(".") || "its content";
    throw new JsonTextError(`${name} is not an object`);
  }
  const [key = "", ...rest] = path.slice(nodes.length - 1);
  const leaf = isItem ? [value] : value;
  const nested = rest.reduceRight((inner: unknown, name) => ({ [name]: inner }), leaf);
  return insert(found, (style) => `${JSON.stringify(key)}: ${jsonAt(nested, depth, style)}`);
}

/** The text without a value that equals this one, and without the containers that were made for it and are then empty. */
export function withoutJson(
  text: string,
  { path, isItem, value, kept = path.length }: JsonEdit,
): string {
  const nodes = nodesAlong(parseJsonText(text), path);
  const found = nodes.at(-1);
  if (nodes.length <= path.length || !found) return text;
  if (!isItem) return isEqual(found, value) ? withoutMember(text, nodes, path, kept) : text;
  if (found.type !== "array") return text;
  const index = partsOf(found).findIndex((item) => isEqual(item, value));
  if (index < 0) return text;
  return partsOf(found).length === 1 && path.length > kept
    ? withoutMember(text, nodes, path, kept)
    : without(text, found, index);
}

function withoutMember(
  text: string,
  nodes: readonly Node[],
  path: readonly string[],
  kept: number,
): string {
  // The highest object of which nothing would be left.
  let depth = path.length - 1;
  while (depth > kept && sizeOf(nodes[depth]) === 1) depth -= 1;
  const holder = nodes[depth];
  if (holder?.type !== "object") return text;
  const index = partsOf(holder).findLastIndex((member) => keyOf(member) === path[depth]);
  return without(text, holder, index);
}

function sizeOf(node: Node | undefined): number {
  return node?.type === "object" ? partsOf(node).length : 0;
}

/** The text without one of the items of a list or an object, and without its comma. Comments around it stay. */
function without(text: string, holder: Node, index: number): string {
  const items = partsOf(holder);
  const [before, item, after] = [items[index - 1], items[index], items[index + 1]];
  if (!item) return text;
  const start = before ? endOf(before) : holder.offset + 1;
  const end = after ? after.offset : endOf(holder) - 1;
  const [left, right] = [text.slice(start, item.offset), text.slice(endOf(item), end)];
  const kept = after
    ? left + commentsIn(right)
    : commentsIn(left) + (before ? right : commentsIn(right));
  return text.slice(0, start) + kept + text.slice(end);
}

/** The text between two values, without its comma; empty where it has no comment. */
function commentsIn(gap: string): string {
  const scanner = createScanner(gap, true);
  scanner.scan();
  const at = scanner.getTokenOffset();
  const rest = gap.slice(0, at) + gap.slice(at + 1);
  return rest.trim() === "" ? "" : rest;
}

interface Style {
  readonly indent: string;
  readonly newline: string;
}

function styleOf(text: string): Style {
  return {
    indent: /^[^\S\n]*[{[]\s*?\n([ \t]+)\S/.exec(text)?.[1] ?? "  ",
    newline: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

function jsonAt(value: unknown, depth: number, { indent, newline }: Style): string {
  return JSON.stringify(value, null, indent).replaceAll(
    "\n",
    () => `${newline}${indent.repeat(depth)}`,
  );
}

function inserted(text: string, holder: Node, added: string, depth: number): Insertion {
  const { indent, newline } = styleOf(text);
  const line = `${newline}${indent.repeat(depth)}${added}`;
  const last = partsOf(holder).at(-1);
  if (last) return { at: endOf(last), text: `,${line}` };
  // Everything between the brackets stays behind it.
  const isTight = /[}\]]/.test(text[holder.offset + 1] ?? "");
  const end = isTight ? `${newline}${indent.repeat(depth - 1)}` : "";
  return { at: holder.offset + 1, text: `${line}${end}` };
}

function isEqual(node: Node, value: unknown): boolean {
  return JSON.stringify(getNodeValue(node)) === JSON.stringify(value);
}
