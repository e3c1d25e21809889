import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { errorText, SessionError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { isStoredEvent } from "../core/event-shape.ts";
import {
  camelCase,
  fields,
  given,
  isFlag,
  isNumber,
  isObject,
  isText,
  listOf,
  maybe,
  orNull,
  type Shape,
} from "../core/fields.ts";
import { isDeeperThan, WRAPPED_NESTING_MAX } from "../core/json-values.ts";
import { KNOWLEDGE_KINDS, KNOWLEDGE_ORIGINS } from "../core/knowledge.ts";
import type { CopiedKnowledge } from "../core/knowledge-store.ts";
import { MEMORY_KINDS, type MemoryEntry } from "../core/memory-store.ts";
import { SessionState } from "../core/session-state.ts";
import type { Stores } from "../core/stores.ts";
import { requireUserName } from "../core/stores.ts";
import { lineProblem, readByteLines } from "../text/read-lines.ts";
import { isSealed } from "./backup-file.ts";
import { EXPORT_VERSION, type ExportCounts, sealedText } from "./write-export.ts";

/** The longest line that is read. */
const LINE_BYTES_MAX = 64 * 1024 * 1024;
const ID_CHARACTERS_MAX = 200;
const BATCH = 500;

interface ReadOptions {
  readonly key: Uint8Array | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (lines: number) => void;
}

const START = '{"rkat_export":';

/** Whether a file begins as an export of rkat does. */
export async function isExport(path: string): Promise<boolean> {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  const file = await open(path, "r").catch(() => undefined);
  try {
    const read = await file?.read(Buffer.alloc(START.length), 0);
    return read?.buffer.toString("utf8", 0, read.bytesRead) === START;
  } finally {
    await file?.close();
  }
}

/**
 * Reads an export into empty stores, whole or not: when it throws, throw the stores away. Returns what it had, and
 * whether the user with the key wrote it.
 *
 * @throws SessionError `INVALID_PARAMS` for a line that is wrong, or a file that was cut off or changed
 */
export async function readExport(
  path: string,
  stores: Stores,
  options: ReadOptions,
): Promise<ExportCounts & { readonly isOwn: boolean }> {
  const reading = new ExportReading(path, stores);
  const digest = createHash("sha256");
  let end: End | undefined;
  for await (const line of readByteLines(createReadStream(path), LINE_BYTES_MAX)) {
    options.signal.throwIfAborted();
    if (line.problem) throw wrong(path, line.number, lineProblem(line.problem, LINE_BYTES_MAX));
    if (end) throw wrong(path, line.number, "stands after the end");
    const value = parsed(line.bytes, (why) => wrong(path, line.number, why));
    if ("end" in value) {
      end = endIn(value, line.number - 1, digest.copy().digest("hex"), path);
      continue;
    }
    digest.update(line.bytes).update("\n");
    await reading.take(value, line.number);
    if (line.number % BATCH === 0) options.onProgress(line.number);
  }
  if (!end) throw wrong(path, undefined, "is cut off: it has no last line");
  const counts = await reading.finish();
  return { ...counts, isOwn: isSealed(sealedText(end.sha256), end.seal, options.key) };
}

interface End {
  readonly sha256: string;
  readonly seal: unknown;
}

function endIn(value: Line, lines: number, sha256: string, path: string): End {
  const end = value.end;
  if (!isObject(end) || end.lines !== lines || end.sha256 !== sha256) {
    throw wrong(path, undefined, "is damaged: its checksum is wrong");
  }
  return { sha256, seal: end.seal };
}

type Line = Readonly<Record<string, unknown>>;

function parsed(bytes: Uint8Array, refuse: (why: string) => SessionError): Line {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw refuse("is not JSON in UTF-8");
  }
  if (!isObject(value)) throw refuse("is not an object");
  if (isDeeperThan(WRAPPED_NESTING_MAX, value)) throw refuse("is nested too deeply");
  return value;
}

/** The lines of one user, or of the project itself, on their way into its stores. */
class NamespaceReading {
  readonly stores: Stores;
  /** The last seq of each session. */
  readonly sessions = new Map<string, number>();
  readonly knowledge: CopiedKnowledge[] = [];
  events = 0;
  memories = 0;
  learned: { readonly events: number; readonly notAgain: readonly string[] } | undefined;
  #batch: StoredEvent[] = [];
  #session = "";
  #entries: MemoryEntry[] = [];

  constructor(stores: Stores) {
    this.stores = stores;
  }

  async addEvent(sessionId: string, stored: StoredEvent): Promise<void> {
    if (sessionId !== this.#session || this.#batch.length >= BATCH) await this.flush();
    this.#session = sessionId;
    this.#batch.push(stored);
    this.sessions.set(sessionId, stored.seq);
    this.events += 1;
  }

  async addMemory(entry: MemoryEntry): Promise<void> {
    this.#entries.push(entry);
    this.memories += 1;
    if (this.#entries.length >= BATCH) await this.flush();
  }

  async flush(): Promise<void> {
    const [first] = this.#batch;
    if (first) {
      const added = this.#batch.map(({ event_id, timestamp_ms, event }) => ({
        event_id,
        timestamp_ms,
        event,
      }));
      await this.stores.events.append(this.#session, first.seq - 1, added);
    }
    if (this.#entries.length > 0) await this.stores.memory.add(this.#entries);
    this.#batch = [];
    this.#entries = [];
  }

  /** Snapshots are made of the log, and what was learned goes on after the event that it had come to. */
  async finish(): Promise<void> {
    await this.flush();
    const { events, sessions, knowledge } = this.stores;
    for (const id of this.sessions.keys()) {
      await sessions.save((await foldedSession(id, events)).snapshot());
    }
    const { events: count, notAgain } = this.learned ?? { events: 0, notAgain: [] };
    const position = await this.#positionOf(count);
    await knowledge.restore({ position, entries: this.knowledge, forgotten: notAgain });
  }

  async #positionOf(count: number): Promise<number> {
    let position = 0;
    for (let left = count; left > 0; ) {
      const page = await this.stores.events.readAll(position, Math.min(left, BATCH));
      const last = page.at(-1);
      if (!last) return position;
      position = last.position;
      left -= page.length;
    }
    return position;
  }
}

/** @throws SessionError `INVALID_PARAMS` when the events are in no order that rkat writes */
async function foldedSession(id: string, events: Stores["events"]): Promise<SessionState> {
  try {
    return await SessionState.fold(id, (after, to) => events.read(id, after, to));
  } catch (cause) {
    throw new SessionError("INVALID_PARAMS", {
      message: `The events of the session ${JSON.stringify(id)} do not fit together: ${errorText(cause)}`,
      hint: "Use another export. Nothing was imported from this one.",
      cause,
    });
  }
}

/** Reads one line after the other into stores. */
class ExportReading {
  readonly #path: string;
  readonly #stores: Stores;
  readonly #users = new Set<string>();
  #current: NamespaceReading;
  #counts = { sessions: 0, events: 0, memories: 0, knowledge: 0 };

  constructor(path: string, stores: Stores) {
    this.#path = path;
    this.#stores = stores;
    this.#current = new NamespaceReading(stores);
  }

  async take(line: Line, number: number): Promise<void> {
    let refused: SessionError | undefined;
    const refuse = (why: string) => {
      refused = wrong(this.#path, number, why);
      return refused;
    };
    if (number === 1) return requireHeader(line, refuse);
    try {
      await this.#take(line, refuse);
    } catch (error) {
      if (error === refused || !SessionError.is(error) || error.code === "SESSION_STORE_ERROR")
        throw error;
      throw refuse(errorText(error));
    }
  }

  async finish(): Promise<ExportCounts> {
    await this.#endNamespace();
    return { ...this.#counts, users: this.#users.size };
  }

  async #take(line: Line, refuse: (why: string) => SessionError): Promise<void> {
    const current = this.#current;
    if ("event" in line) {
      const before = current.sessions.get(String(line.session)) ?? 0;
      if (!isEvent(line) || line.seq !== before + 1)
        throw refuse("is not the next event of a session");
      const { session, seq, event_id, timestamp_ms, event } = line;
      const stored = { seq, event_id, timestamp_ms, event, schema_version: 1 } as StoredEvent;
      await current.addEvent(session as string, stored);
    } else if ("memory" in line) {
      if (!isMemory(line.memory)) throw refuse("is not an entry of memory");
      await current.addMemory(known(MEMORY_FIELDS, line.memory) as MemoryEntry);
    } else if ("knowledge" in line) {
      if (!isKnowledge(line)) throw refuse("is not what a project learned");
      const { knowledge, keys, likeness } = line;
      const entry = known(KNOWLEDGE_FIELDS, knowledge);
      current.knowledge.push({ entry, keys, ...given({ likeness }) } as CopiedKnowledge);
    } else if ("learned_events" in line) {
      if (!isLearned(line)) throw refuse("does not say what was learned");
      const { learned_events, not_again } = line;
      current.learned = { events: learned_events as number, notAgain: not_again as string[] };
    } else if ("forgotten" in line || "imported" in line) {
      const marks = line.forgotten ?? line.imported;
      if (!isMarks(marks)) throw refuse("has marks that are none");
      if ("forgotten" in line) await current.stores.forgotten?.restore(marks as string[]);
      else await current.stores.imports.restore(marks as string[]);
    } else if ("user" in line) {
      const { user } = line;
      if (typeof user !== "string" || this.#users.has(user))
        throw refuse("does not name another user");
      await this.#endNamespace();
      this.#users.add(requireUserName(user));
      this.#current = new NamespaceReading(this.#stores.forUser(user));
    } else throw refuse("has nothing that this rkat knows");
  }

  async #endNamespace(): Promise<void> {
    const current = this.#current;
    await current.finish();
    this.#counts.sessions += current.sessions.size;
    this.#counts.events += current.events;
    this.#counts.memories += current.memories;
    this.#counts.knowledge += current.knowledge.length;
  }
}

function requireHeader(line: Line, refuse: (why: string) => SessionError): void {
  if (line.rkat_export === EXPORT_VERSION && isFlag(line.redacted)) return;
  throw refuse(`is not the first line of an export of format ${EXPORT_VERSION}`);
}

const isId: Shape = (value) =>
  typeof value === "string" && value !== "" && value.length <= ID_CHARACTERS_MAX;
const isCount: Shape = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const oneOf =
  (values: readonly string[]): Shape =>
  (value) =>
    values.some((each) => each === value);

const place = maybe(fields({ from: isCount, to: isCount }));
const edits = {
  earlier: maybe(listOf(fields({ id: isId, content: isText, time: maybe(isText), until: isText }))),
  keeps: maybe(listOf(fields({ id: isId, since: isText, until: maybe(isText) }))),
};
const hasEvent = fields({ session: isId, seq: isCount, event_id: isId, timestamp_ms: isCount });
const isEvent: Shape = (line) => hasEvent(line) && isObject(line) && isStoredEvent(line.event);
const MEMORY_FIELDS = {
  id: isId,
  content: isText,
  session_id: isId,
  turn: orNull(isCount),
  kind: oneOf(MEMORY_KINDS),
  time: maybe(isText),
  role: maybe(isText),
  speaker: maybe(isText),
  source: place,
  pinned: maybe((value) => value === true),
  ...edits,
};
const KNOWLEDGE_FIELDS = {
  id: isId,
  kind: oneOf(KNOWLEDGE_KINDS),
  content: isText,
  tags: listOf(isText),
  origin: oneOf(KNOWLEDGE_ORIGINS),
  session_id: maybe(isId),
  source: place,
  time: isText,
  last_time: isText,
  count: isCount,
  pinned: isFlag,
  edited: isFlag,
  used_at: maybe(isText),
  tool: maybe(isText),
  args: maybe(isText),
  reason: maybe(isText),
  goal: maybe(isText),
  sources: maybe(listOf(isText)),
  ...edits,
};
const isMemory = fields(MEMORY_FIELDS);
const isKnowledge = fields({
  knowledge: fields(KNOWLEDGE_FIELDS),
  keys: listOf(isId),
  likeness: maybe(fields({ bands: listOf(isId), signature: listOf(isNumber) })),
});
const isLearned = fields({ learned_events: isCount, not_again: listOf(isId) });
const isMarks = listOf(isId);

/** The entry with the fields that it may have, under their names in the code. */
function known(names: object, entry: unknown): object {
  return Object.fromEntries(
    Object.entries(entry as object)
      .filter(([name]) => Object.hasOwn(names, name))
      .map(([name, value]) => [camelCase(name), value as unknown]),
  );
}

function wrong(path: string, line: number | undefined, why: string): SessionError {
  const where = line === undefined ? path : `${path}, line ${line},`;
  return new SessionError("INVALID_PARAMS", {
    message: `${where} ${why.replace(/\.$/, "")}.`,
    hint: "Use another export. Nothing was imported from this one.",
  });
}
