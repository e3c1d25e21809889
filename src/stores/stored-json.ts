import type { ApprovalAnswer, PendingApproval } from "../core/approval.ts";
import { SessionError } from "../core/errors.ts";
import { isSource } from "../core/event-shape.ts";
import {
  fields,
  isFlag,
  isNumber,
  isText,
  listOf,
  maybe,
  orNull,
  type Shape,
} from "../core/fields.ts";
import type { ImportedFile } from "../core/import-store.ts";
import { parsedJson, WRAPPED_NESTING_MAX, withinNesting } from "../core/json-values.ts";
import { KNOWLEDGE_KINDS, KNOWLEDGE_ORIGINS, type KnowledgeEntry } from "../core/knowledge.ts";
import { MEMORY_KINDS, type MemoryEntry } from "../core/memory-store.ts";
import type { LoggedSource } from "../core/session-source.ts";

/*
 * Readers of the JSON that stores keep. A disk, a person or a server may have changed it: what does not have the
 * form in which rkat writes it is a `SESSION_STORE_ERROR`.
 */

export function storedEntry(text: string): KnowledgeEntry {
  return storedJson(text, isEntry, "An entry of what the project has learned");
}

/** An entry of what the project has learned, as its table has it. */
export interface CheckedEntry {
  readonly id: string;
  readonly kind: string;
  readonly session_id: string | null;
  readonly pinned: boolean | number;
  readonly used: boolean | number;
  readonly likeness: string | null;
  readonly entry: string;
  /** The checksum of the entry's text. */
  readonly checksum: number | null;
}

/** The columns of such a row. */
export const CHECKED_COLUMNS = "id, kind, session_id, pinned, used, likeness, entry, checksum";

/** Whether an entry is what was stored. One that is not goes into no prompt, and `rkat doctor` names it. */
export function isIntact(row: CheckedEntry): boolean {
  const { entry, checksum, likeness } = row;
  // A server may answer with anything.
  if (typeof entry !== "string") return false;
  if (checksum === null || Number(checksum) !== checksumOf(entry)) return false;
  const stored = storedEntry(entry);
  // Columns choose what a session takes along and what is evicted, so they say the same as the entry.
  return (
    stored.id === row.id &&
    stored.kind === row.kind &&
    (stored.sessionId ?? null) === row.session_id &&
    Number(stored.pinned) === Number(row.pinned) &&
    Number(stored.usedAt !== undefined) === Number(row.used) &&
    (likeness === null || isSignature(parsedJson(likeness)))
  );
}

/** The first 48 bits of the SHA-256 of a text. Both databases can make it. */
export function checksumOf(text: string): number {
  // Loaded when it is used: a search starts without it.
  const { createHash } = process.getBuiltinModule("node:crypto");
  return createHash("sha256").update(text).digest().readUIntBE(0, 6);
}

/** Counts the hashes that lead to no entry of their namespace. `prefix` is the schema's. */
export const lostEntries = (prefix = "") =>
  `select count(distinct hashed.entry) as lost from ${prefix}knowledge_key as hashed
    left join ${prefix}knowledge_entry as found
      on found.key = hashed.entry and found.namespace = hashed.namespace
    where hashed.entry is not null and found.key is null`;

/** Entries that are gone or have changed since they were stored, one sentence each. */
export function changedEntries(
  rows: Iterable<CheckedEntry>,
  lost: number,
  max: number,
): readonly string[] {
  const problems: string[] = [];
  if (lost > 0) {
    const what = lost === 1 ? "1 entry" : `${lost} entries`;
    problems.push(
      `The store has lost ${what} of what the project learned. Restore a backup, or add it again: \`rkat knowledge add\`.`,
    );
  }
  for (const row of rows) {
    if (isIntact(row)) continue;
    problems.push(
      `The ${row.kind} ${row.id} has changed since it was stored, so it is not used. Restore a backup, or add it again: \`rkat knowledge add\`.`,
    );
    if (problems.length === max) break;
  }
  return problems;
}

export function storedSignature(text: string): readonly number[] {
  return storedJson(text, isSignature, "An entry of what the project has learned");
}

export function storedApproval(text: string): PendingApproval {
  return storedJson(text, isApproval, "A call that waits for approval");
}

export function storedAnswer(text: string): ApprovalAnswer {
  return storedJson(text, isAnswer, "The answer to a call that waits for approval");
}

export function storedSource(text: string): LoggedSource {
  return storedJson(text, isSource, "The source of a session");
}

/** An entry that waits to come into the index of memory. */
export function storedMemory(text: string): Omit<MemoryEntry, "id"> {
  return storedJson(text, isMemory, "An entry of memory");
}

export function storedFile(text: string): ImportedFile {
  return storedJson(text, isFile, "The state of an imported file");
}

const isSignature = listOf(isNumber);

const oneOf =
  (names: readonly string[]): Shape =>
  (value) =>
    names.includes(String(value));

const isEntry = fields({
  id: isText,
  kind: oneOf(KNOWLEDGE_KINDS),
  content: isText,
  tags: listOf(isText),
  origin: oneOf(KNOWLEDGE_ORIGINS),
  sessionId: maybe(isText),
  time: isText,
  source: maybe(fields({ from: isNumber, to: isNumber })),
  lastTime: isText,
  count: isNumber,
  pinned: isFlag,
  edited: isFlag,
  earlier: maybe(listOf(fields({ content: isText, until: isText }))),
  keeps: maybe(listOf(fields({ id: isText, since: isText }))),
  usedAt: maybe(isText),
  tool: maybe(isText),
  args: maybe(isText),
  reason: maybe(isText),
  goal: maybe(isText),
  sources: maybe(listOf(isText)),
});

const isMemory = fields({
  content: isText,
  sessionId: isText,
  turn: orNull(isNumber),
  kind: oneOf(MEMORY_KINDS),
  role: maybe(isText),
  speaker: maybe(isText),
  time: maybe(isText),
  source: maybe(fields({ from: isNumber, to: isNumber })),
  pinned: maybe(isFlag),
  earlier: maybe(listOf(fields({ id: isText, content: isText, until: isText }))),
  keeps: maybe(listOf(fields({ id: isText, since: isText }))),
});

const isApproval = fields({
  approvalId: isText,
  sessionId: isText,
  toolUseId: isText,
  tool: isText,
  goal: isText,
  requestedAt: isText,
});

const isAnswer = fields({
  decision: oneOf(["allow", "deny"]),
  reason: maybe(isText),
  by: maybe(isText),
  always: maybe(isText),
});

const isFile = fields({
  agent: isText,
  stamp: isText,
  sessions: isNumber,
  messages: isNumber,
  places: maybe(listOf(isText)),
  readOn: maybe(fields({ offset: isNumber, line: isNumber, messages: isNumber, hash: isText })),
});

function storedJson<Value>(text: string, isValue: Shape, what: string): Value {
  const value = parsedJson(text);
  if (isValue(value)) return withinNesting(value as Value, WRAPPED_NESTING_MAX);
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `${what} has changed since it was stored.`,
    hint: "Restore the store from a backup. `rkat doctor` checks the store.",
  });
}

/**
 * Whether an error of a command that works on rows is one of the language: then a row lacks a column, or has a value of
 * another kind than rkat writes.
 */
export function isWrongRow(error: unknown): boolean {
  return error instanceof TypeError || error instanceof SyntaxError || error instanceof RangeError;
}
