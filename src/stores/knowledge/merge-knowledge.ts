import { isDeepStrictEqual } from "node:util";
import type {
  KnowledgeEntry,
  KnowledgeKind,
  KnowledgeOrigin,
  Likeness,
  NewKnowledge,
} from "../../core/knowledge.ts";
import type {
  KnowledgeChange,
  KnowledgeCopy,
  KnowledgeLimits,
  KnowledgePage,
} from "../../core/knowledge-store.ts";

/** An entry as a store keeps it. */
export interface KnowledgeRow {
  /** Grows with every entry that is added. */
  readonly key: number;
  readonly entry: KnowledgeEntry;
  /** Grows with every change that memory needs to know. */
  readonly version: number;
  /** The version that memory has; 0 for none. */
  readonly heard: number;
  readonly signature?: readonly number[];
}

/** Rows, and hashes to find them. Every method is a lookup, not a scan. */
export interface KnowledgeRows {
  byId(id: string): KnowledgeRow | undefined;
  /** The row with this hash; `"forgotten"` when that row was forgotten and must not come back. */
  byHash(hash: string): KnowledgeRow | "forgotten" | undefined;
  /** Some rows that share a band. */
  byBands(bands: readonly string[]): readonly KnowledgeRow[];
  insert(entry: KnowledgeEntry, hashes: Hashes): void;
  /** Saves a changed row. New hashes replace the old ones. */
  save(row: KnowledgeRow, hashes?: Hashes): void;
  /** Removes a row. With `forget`, its hashes stay, so that it does not come back. */
  remove(row: KnowledgeRow, options?: { readonly forget?: boolean }): void;
  /** Keeps out what has this hash, although no row had it. */
  forgetHash(hash: string): void;
  /** Lets forgotten rows with these hashes come back. */
  allow(hashes: readonly string[]): void;
  count(kind: KnowledgeKind): number;
  /** The oldest of a kind that is not pinned. With `unused`, one that was never used; with `foreign`, none of the user's. */
  oldest(
    kind: KnowledgeKind,
    options: { readonly unused: boolean; readonly foreign: boolean },
  ): KnowledgeRow | undefined;
  /** Notes for memory that an entry was deleted. */
  gone(id: string): void;
  /** Notes that sources of rules have changed. */
  revise(): void;
}

export interface Hashes {
  readonly keys: readonly string[];
  readonly likeness?: Likeness;
}

/** Two texts are nearly the same when this share of their signatures is equal. */
const ALIKE = 0.84;

/** Adds new knowledge, or merges it into an entry that says the same. Returns the entry, if there is one. */
export function mergeKnowledge(
  rows: KnowledgeRows,
  fresh: NewKnowledge,
  limits: KnowledgeLimits,
  options: { readonly byHand: boolean },
): KnowledgeEntry | undefined {
  if (fresh.kind !== "fact") rows.revise();
  if (options.byHand) rows.allow(fresh.keys);
  const known = findKnown(rows, fresh);
  if (known === "forgotten") return undefined;
  if (known) return mergeInto(rows, known, fresh);
  if (!makeRoom(rows, fresh, limits)) return undefined;
  const entry = entryOf(fresh);
  rows.insert(entry, fresh);
  return entry;
}

/** Changes an entry by hand. */
export function editKnowledge(
  rows: KnowledgeRows,
  id: string,
  { content, goal, earlier, keeps, keys, tags, pinned }: KnowledgeChange,
): KnowledgeEntry | undefined {
  const row = rows.byId(id);
  if (!row) return undefined;
  const { earlier: texts = [], keeps: kept = [], ...rest } = row.entry;
  const entry: KnowledgeEntry = {
    ...rest,
    ...marked({ earlier: earlier ?? texts, keeps: keeps ?? kept }),
    ...(content === undefined ? {} : { content, edited: true }),
    ...(goal === undefined ? {} : { goal }),
    ...(tags === undefined ? {} : { tags }),
    ...(pinned === undefined ? {} : { pinned }),
  };
  const changed = content !== undefined && content !== row.entry.content;
  // Memory shows both.
  const version = row.version + (changed || keeps !== undefined ? 1 : 0);
  rows.save({ ...row, entry, version }, keys && changed ? { keys } : undefined);
  if (entry.kind !== "fact") rows.revise();
  return entry;
}

/** The notes of an entry beside its text, if it has any. */
function marked({ earlier = [], keeps = [] }: Pick<KnowledgeEntry, "earlier" | "keeps">) {
  return {
    ...(earlier.length > 0 ? { earlier } : {}),
    ...(keeps.length > 0 ? { keeps } : {}),
  };
}

export function forgetKnowledge(rows: KnowledgeRows, ids: readonly string[]): number {
  const found = ids.flatMap((id) => rows.byId(id) ?? []);
  for (const row of found) {
    rows.remove(row, { forget: true });
    rows.gone(row.entry.id);
    if (row.entry.kind !== "fact") rows.revise();
  }
  return found.length;
}

/** Adds what another store has. Doing it again changes nothing. */
export function restoreKnowledge(
  rows: KnowledgeRows,
  { entries, forgotten }: Pick<KnowledgeCopy, "entries" | "forgotten">,
): void {
  let isRevised = false;
  for (const hash of forgotten) {
    const row = rows.byHash(hash);
    if (row === "forgotten") continue;
    rows.forgetHash(hash);
    if (!row) continue;
    rows.remove(row, { forget: true });
    rows.gone(row.entry.id);
    isRevised ||= row.entry.kind !== "fact";
  }
  for (const { entry, ...hashes } of entries) {
    const row = rows.byId(entry.id);
    if (row && !isNewer(entry, row.entry)) continue;
    if (!row && hashes.keys.some((key) => rows.byHash(key))) continue;
    if (row) {
      const version = row.version + 1;
      const signature = hashes.likeness ? { signature: hashes.likeness.signature } : {};
      rows.save({ ...row, entry, version, ...signature }, hashes);
    } else rows.insert(entry, hashes);
    isRevised ||= entry.kind !== "fact";
  }
  if (isRevised) rows.revise();
}

/** Whether the copied entry replaces the one that is there. */
function isNewer(copied: KnowledgeEntry, present: KnowledgeEntry): boolean {
  return copied.lastTime >= present.lastTime && !isDeepStrictEqual(copied, present);
}

/** Replaces the distilled rules. */
export function replaceRules(
  rows: KnowledgeRows,
  before: readonly KnowledgeEntry[],
  rules: readonly NewKnowledge[],
): void {
  const kept = new Set(rules.map(({ id }) => id));
  for (const { id } of before) {
    const row = kept.has(id) ? undefined : rows.byId(id);
    if (!row) continue;
    rows.remove(row);
    rows.gone(id);
  }
  for (const rule of rules) {
    const row = rows.byId(rule.id);
    if (row) updateRule(rows, row, rule);
    else if (!rule.keys.some((key) => rows.byHash(key) === "forgotten")) {
      rows.insert(entryOf(rule), rule);
    }
  }
}

function updateRule(rows: KnowledgeRows, row: KnowledgeRow, rule: NewKnowledge): void {
  const { entry: before } = row;
  const fresh = entryOf(rule);
  const content = before.edited ? before.content : fresh.content;
  const entry = {
    ...fresh,
    content,
    time: before.time,
    lastTime: rule.time,
    pinned: before.pinned || fresh.pinned,
    edited: before.edited,
    ...marked(before),
    ...(before.usedAt === undefined ? {} : { usedAt: before.usedAt }),
  };
  const version = row.version + (content === before.content ? 0 : 1);
  rows.save({ ...row, entry, version }, rule);
}

function findKnown(
  rows: KnowledgeRows,
  { id, keys, likeness }: NewKnowledge,
): KnowledgeRow | "forgotten" | undefined {
  const same = rows.byId(id) ?? keys.map((key) => rows.byHash(key)).find(Boolean);
  if (same || !likeness) return same;
  return rows
    .byBands(likeness.bands)
    .find(({ signature = [] }) => alike(signature, likeness.signature) >= ALIKE);
}

function alike(one: readonly number[], other: readonly number[]): number {
  const equal = one.filter((value, index) => value === other[index]).length;
  return equal / Math.max(1, one.length, other.length);
}

function mergeInto(rows: KnowledgeRows, row: KnowledgeRow, fresh: NewKnowledge): KnowledgeEntry {
  const { entry: before } = row;
  const isNewer = fresh.time >= before.lastTime;
  const content = before.edited || !isNewer ? before.content : fresh.content;
  const changed = content !== before.content;
  const latest = isNewer ? fresh : before;
  const entry: KnowledgeEntry = {
    ...before,
    content,
    lastTime: isNewer ? fresh.time : before.lastTime,
    count: before.count + (fresh.count ?? 1),
    pinned: before.pinned || fresh.pinned === true,
    ...(latest.sessionId === undefined ? {} : { sessionId: latest.sessionId }),
    ...(latest.source === undefined ? {} : { source: latest.source }),
    ...(latest.reason === undefined ? {} : { reason: latest.reason }),
    ...(latest.goal === undefined ? {} : { goal: latest.goal }),
  };
  const signature = changed && fresh.likeness ? { signature: fresh.likeness.signature } : {};
  const version = row.version + (changed ? 1 : 0);
  rows.save({ ...row, entry, version, ...signature }, changed ? fresh : undefined);
  return entry;
}

/** Statements of tools, models and transcripts go first. They take no place of those that the user said, edited or added. */
function makeRoom(rows: KnowledgeRows, fresh: NewKnowledge, limits: KnowledgeLimits): boolean {
  const { kind } = fresh;
  const oldest = (foreign: boolean) =>
    (limits.eviction === "spare_used" ? rows.oldest(kind, { unused: true, foreign }) : undefined) ??
    rows.oldest(kind, { unused: false, foreign });
  while (rows.count(kind) >= limits.max[kind]) {
    const goes = oldest(true) ?? (isForeign(fresh) ? undefined : oldest(false));
    if (!goes) return false;
    rows.remove(goes);
    rows.gone(goes.entry.id);
  }
  return true;
}

/** Whether an entry is not the user's own word. */
export function isForeign({
  origin,
  edited = false,
}: Pick<KnowledgeEntry, "origin"> & { readonly edited?: boolean }): boolean {
  return FOREIGN_ORIGINS.includes(origin) && !edited;
}

export const FOREIGN_ORIGINS: readonly KnowledgeOrigin[] = ["tool", "model", "imported"];

function entryOf(fresh: NewKnowledge): KnowledgeEntry {
  const { keys: _, likeness: __, count = 1, pinned = false, ...entry } = fresh;
  return { ...entry, lastTime: fresh.time, count: Math.max(1, count), pinned, edited: false };
}

/** Whether an entry meets the conditions of a page. */
export function knowledgeFilter({
  kind,
  pinned,
  tag,
  query = "",
}: KnowledgePage): (entry: KnowledgeEntry) => boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (entry) =>
    (kind === undefined || entry.kind === kind) &&
    (pinned === undefined || entry.pinned === pinned) &&
    (tag === undefined || entry.tags.includes(tag)) &&
    words.every((word) => entry.content.toLowerCase().includes(word));
}
