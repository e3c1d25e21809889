/**
 * JSON as it stands in a file: each value with its place. So a part can be added or removed, and all
 * other bytes stay as they are. Comments and commas at the end of a list are allowed if the program
 * that owns the file allows them.
 */
export type JsonNode = ObjectNode | ArrayNode | ScalarNode;

interface Place {
  readonly start: number;
  readonly end: number;
}

interface ObjectNode extends Place {
  readonly kind: "object";
  readonly members: readonly Member[];
}

interface ArrayNode extends Place {
  readonly kind: "array";
  readonly items: readonly JsonNode[];
}

interface ScalarNode extends Place {
  readonly kind: "scalar";
  readonly value: unknown;
}

interface Member extends Place {
  readonly key: string;
  readonly value: JsonNode;
}

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
  /** How many keys of the path were there before. What is below them was made for the value. */
  readonly kept?: number;
}

/** What is wrong with a JSON text, as a clause, and where. */
export class JsonTextError extends Error {}

const DEPTH_MAX = 200;
const SCALAR = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;
const GAP = /[\s\uFEFF]*/y;
const GAP_WITH_COMMENTS = /(?:[\s\uFEFF]|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;

/** @throws JsonTextError */
export function parseJsonText(text: string, allowsComments: boolean): JsonNode {
  const gap = allowsComments ? GAP_WITH_COMMENTS : GAP;
  let at = 0;
  const skip = () => {
    gap.lastIndex = at;
    gap.exec(text);
    at = gap.lastIndex;
  };
  const fail = (): never => {
    const line = text.slice(0, at).split("\n").length;
    throw new JsonTextError(`it is not JSON (line ${line})`);
  };
  const take = (sign: string) => {
    skip();
    if (text[at] !== sign) return false;
    at += 1;
    return true;
  };
  /** Reads up to the closing sign, with commas between. */
  const list = <Item>(close: string, item: () => Item): Item[] => {
    const items: Item[] = [];
    at += 1;
    while (!take(close)) {
      if (items.length > 0 && !take(",")) fail();
      if (allowsComments && items.length > 0 && take(close)) break;
      items.push(item());
    }
    return items;
  };
  const scalar = (): ScalarNode => {
    SCALAR.lastIndex = at;
    const found = SCALAR.exec(text)?.[0] ?? fail();
    const start = at;
    try {
      const value: unknown = JSON.parse(found);
      at += found.length;
      return { kind: "scalar", start, end: at, value };
    } catch {
      return fail();
    }
  };
  const node = (depth: number): JsonNode => {
    skip();
    const start = at;
    if (depth > DEPTH_MAX) fail();
    if (text[at] === "{") {
      const members = list("}", () => member(depth));
      return { kind: "object", start, end: at, members };
    }
    if (text[at] === "[") {
      const items = list("]", () => node(depth + 1));
      return { kind: "array", start, end: at, items };
    }
    return scalar();
  };
  const member = (depth: number): Member => {
    skip();
    const start = at;
    const key = text[at] === '"' ? String(scalar().value) : fail();
    if (!take(":")) fail();
    const value = node(depth + 1);
    return { key, start, end: value.end, value };
  };
  const root = node(0);
  skip();
  if (at < text.length) fail();
  return root;
}

/** The value of a node. */
export function jsonValue(node: JsonNode): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "array") return node.items.map(jsonValue);
  return Object.fromEntries(node.members.map(({ key, value }) => [key, jsonValue(value)]));
}

/** The nodes along a path, as far as they are there. Of two members with one key the last counts. */
export function nodesAlong(root: JsonNode, path: readonly string[]): readonly JsonNode[] {
  const nodes = [root];
  for (const key of path) {
    const last = nodes.at(-1);
    const next = last?.kind === "object" && last.members.findLast((each) => each.key === key);
    if (!next) break;
    nodes.push(next.value);
  }
  return nodes;
}

/**
 * What to insert so that the text has this value, and the edit as `withoutJson` takes it.
 *
 * @throws JsonTextError when something else is in its place
 */
export function insertionOf(
  text: string,
  root: JsonNode,
  edit: JsonEdit,
): { readonly insertion: Insertion; readonly edit: JsonEdit } {
  const { path, isItem = false, value } = edit;
  const nodes = nodesAlong(root, path);
  const found = nodes.at(-1) ?? root;
  const depth = nodes.length;
  const insert = (holder: Place, items: readonly Place[], added: (style: Style) => string) => ({
    insertion: inserted(text, holder, items, added(styleOf(text)), depth),
    edit: { ...edit, kept: depth - 1 },
  });
  if (nodes.length > path.length) {
    if (!isItem || found.kind !== "array") {
      throw new JsonTextError(`it has another ${path.join(".")} already`);
    }
    return insert(found, found.items, (style) => jsonAt(value, depth, style));
  }
  if (found.kind !== "object") {
    const name = path.slice(0, nodes.length - 1).join(".") || "its content";
    throw new JsonTextError(`${name} is not an object`);
  }
  const [key = "", ...rest] = path.slice(nodes.length - 1);
  const leaf = isItem ? [value] : value;
  const nested = rest.reduceRight((inner: unknown, name) => ({ [name]: inner }), leaf);
  return insert(
    found,
    found.members,
    (style) => `${JSON.stringify(key)}: ${jsonAt(nested, depth, style)}`,
  );
}

/** The text without a value that equals this one, and without what was made for it and is then empty. */
export function withoutJson(
  text: string,
  allowsComments: boolean,
  { path, isItem, value, kept = path.length }: JsonEdit,
): string {
  const nodes = nodesAlong(parseJsonText(text, allowsComments), path);
  const found = nodes.at(-1);
  if (nodes.length <= path.length || !found) return text;
  if (!isItem) return isEqual(found, value) ? withoutMember(text, nodes, path, kept) : text;
  if (found.kind !== "array") return text;
  const index = found.items.findIndex((item) => isEqual(item, value));
  if (index < 0) return text;
  return found.items.length === 1 && path.length > kept
    ? withoutMember(text, nodes, path, kept)
    : without(text, found, found.items, index);
}

function withoutMember(
  text: string,
  nodes: readonly JsonNode[],
  path: readonly string[],
  kept: number,
): string {
  // The highest object of which nothing would be left.
  let depth = path.length - 1;
  while (depth > kept && sizeOf(nodes[depth]) === 1) depth -= 1;
  const holder = nodes[depth];
  if (holder?.kind !== "object") return text;
  const index = holder.members.findLastIndex(({ key }) => key === path[depth]);
  return without(text, holder, holder.members, index);
}

function sizeOf(node: JsonNode | undefined): number {
  return node?.kind === "object" ? node.members.length : 0;
}

/** The text without one of the items of a list or an object, and without its comma. */
function without(text: string, holder: Place, items: readonly Place[], index: number): string {
  const [before, item, after] = [items[index - 1], items[index], items[index + 1]];
  if (!item) return text;
  if (after) return cut(text, item.start, after.start);
  if (before) return cut(text, before.end, item.end);
  return cut(text, holder.start + 1, holder.end - 1);
}

function cut(text: string, start: number, end: number): string {
  return text.slice(0, start) + text.slice(end);
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

function inserted(
  text: string,
  holder: Place,
  items: readonly Place[],
  added: string,
  depth: number,
): Insertion {
  const { indent, newline } = styleOf(text);
  const line = `${newline}${indent.repeat(depth)}${added}`;
  const last = items.at(-1);
  if (last) return { at: last.end, text: `,${line}` };
  // Whatever is between the brackets stays behind it.
  const isTight = text[holder.start + 1] === "}" || text[holder.start + 1] === "]";
  const end = isTight ? `${newline}${indent.repeat(depth - 1)}` : "";
  return { at: holder.start + 1, text: `${line}${end}` };
}

function isEqual(node: JsonNode, value: unknown): boolean {
  return JSON.stringify(jsonValue(node)) === JSON.stringify(value);
}
