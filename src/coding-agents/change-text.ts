import { getNodeValue } from "jsonc-parser";
import { parseToml, type TomlTable } from "../config/read-config-file.ts";
import {
  type Insertion,
  insertionOf,
  type JsonEdit,
  JsonTextError,
  nodesAlong,
  parseJsonText,
  partsOf,
  withoutJson,
} from "./json-text.ts";

/** The content that rkat puts into a file of another program, or the whole file. */
export type Content =
  | { readonly kind: "json"; readonly edits: readonly JsonEdit[] }
  | { readonly kind: "toml"; readonly table: readonly string[]; readonly values: TomlTable }
  | { readonly kind: "whole"; readonly text: string };

/** A file with rkat's content, and what has to be known to take the content out again. */
export interface ChangedText {
  readonly text: string;
  /** In the order in which they were made. */
  readonly insertions: readonly Insertion[];
  /** The part of the content that was not there before. */
  readonly added: Content;
}

/** A file that cannot be changed: the reason, as a clause. */
export class UnchangeableText extends Error {}

/**
 * A file's text with the content of rkat. All else stays byte for byte.
 *
 * @throws UnchangeableText
 */
export async function withContent(
  before: string | undefined,
  content: Content,
): Promise<ChangedText> {
  if (content.kind === "whole") {
    if (before !== undefined) throw new UnchangeableText("another file is in its place");
    return { text: content.text, insertions: [], added: content };
  }
  return content.kind === "json"
    ? withJson(before, content)
    : await withTable(before ?? "", content);
}

/**
 * A file's text without the added content, after others have changed the file too.
 *
 * @throws UnchangeableText
 */
export async function withoutContent(
  before: string,
  { added, insertions }: Pick<ChangedText, "added" | "insertions">,
): Promise<string> {
  if (added.kind === "whole") {
    if (before === added.text) return "";
    throw new UnchangeableText("it was changed since; remove it by hand");
  }
  return added.kind === "json"
    ? withoutEdits(before, added)
    : await withoutTable(before, added, insertions);
}

/** The text before these insertions. */
export function beforeInsertions(text: string, insertions: readonly Insertion[]): string {
  return insertions.reduceRight(
    (rest, { at, text: added }) => rest.slice(0, at) + rest.slice(at + added.length),
    text,
  );
}

type JsonContent = Content & { kind: "json" };
type TomlContent = Content & { kind: "toml" };

function withJson(before = "", content: JsonContent): ChangedText {
  const { edits } = content;
  // Nothing was written into it yet.
  const isBlank = before.trim() === "";
  const insertions: Insertion[] = isBlank ? [{ at: before.length, text: "{}\n" }] : [];
  let text = isBlank ? `${before}{}\n` : before;
  const made: JsonEdit[] = [];
  try {
    for (const wanted of edits) {
      const root = parseJsonText(text);
      if (isThere(root, wanted)) continue;
      const { insertion, edit } = insertionOf(text, root, wanted);
      insertions.push(insertion);
      made.push(edit);
      text = text.slice(0, insertion.at) + insertion.text + text.slice(insertion.at);
    }
  } catch (error) {
    throw unchangeable(error);
  }
  return { text, insertions, added: { ...content, edits: made } };
}

/** Whether the person who owns the file has written the same. */
function isThere(root: ReturnType<typeof parseJsonText>, edit: JsonEdit): boolean {
  const nodes = nodesAlong(root, edit.path);
  const found = nodes[edit.path.length];
  if (!found) return false;
  const value = JSON.stringify(edit.value);
  const there = edit.isItem && found.type === "array" ? partsOf(found) : [found];
  return there.some((node) => JSON.stringify(getNodeValue(node)) === value);
}

function withoutEdits(before: string, { edits }: JsonContent): string {
  try {
    return edits.reduceRight((text, edit) => withoutJson(text, edit), before);
  } catch (error) {
    throw unchangeable(error);
  }
}

function unchangeable(error: unknown): unknown {
  return error instanceof JsonTextError ? new UnchangeableText(error.message) : error;
}

async function withTable(before: string, content: TomlContent): Promise<ChangedText> {
  const { table, values } = content;
  const newline = before.includes("\r\n") ? "\r\n" : "\n";
  const parsed = await parsedToml(before);
  if (JSON.stringify(tableAt(parsed, table)) === JSON.stringify(values)) {
    return { text: before, insertions: [], added: { ...content, values: {} } };
  }
  if (tableAt(parsed, table) !== undefined) {
    throw new UnchangeableText(`it has another ${table.join(".")} already`);
  }
  const gap = before === "" ? "" : before.endsWith("\n") ? newline : newline + newline;
  const lines = [
    `[${table.join(".")}]`,
    // TOML takes JSON's escapes, and forbids one more character.
    ...Object.entries(values).map(
      ([key, value]) => `${key} = ${JSON.stringify(value).replaceAll("\u007f", "\\u007F")}`,
    ),
    "",
  ];
  const insertion = { at: before.length, text: gap + lines.join(newline) };
  const text = before + insertion.text;
  // A table that is written on one line is complete.
  if (!("table" in (await parseToml(text)))) {
    const [name] = table;
    throw new UnchangeableText(`its ${name} takes no further tables: write it as [${name}.…]`);
  }
  return { text, insertions: [insertion], added: content };
}

async function withoutTable(
  before: string,
  { table, values }: TomlContent,
  insertions: readonly Insertion[],
): Promise<string> {
  const parsed = await parsedToml(before);
  if (JSON.stringify(tableAt(parsed, table)) !== JSON.stringify(values)) return before;
  const written = insertions[0]?.text;
  const at = written === undefined ? -1 : before.indexOf(written);
  if (written !== undefined && at >= 0) {
    const after = before.slice(0, at) + before.slice(at + written.length);
    if (tableAt(await parsedToml(after), table) === undefined) return after;
  }
  throw new UnchangeableText(`its [${table.join(".")}] was moved; remove it by hand`);
}

async function parsedToml(text: string): Promise<TomlTable> {
  const found = await parseToml(text);
  if ("table" in found) return found.table;
  throw new UnchangeableText(`it is not TOML (line ${found.line}, column ${found.column})`);
}

function tableAt(root: TomlTable, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null ? (value as TomlTable)[key] : undefined,
    root,
  );
}
