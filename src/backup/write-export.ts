import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { DurableEvent } from "../core/event.ts";
import { isDeleted } from "../core/event-store.ts";
import { given, snakeCase } from "../core/fields.ts";
import type { Stores } from "../core/stores.ts";
import { redactEvent, redactJson } from "../secrets/redact-message.ts";
import { sealOf } from "./backup-file.ts";

/**
 * A project as JSON Lines, for people, other programs and `rkat import`. Each line has one thing, in this order:
 *
 *     {"rkat_export":1,"redacted":false}
 *     {"session":"0194…","seq":1,"event_id":"…","timestamp_ms":…,"event":{…}}   in the order of the log
 *     {"memory":{"id":"…","content":"…","session_id":"…",…}}                     in the order in which it was stored
 *     {"knowledge":{"id":"…","kind":"preference",…},"keys":[…]}
 *     {"learned_events":120,"not_again":["…"]}      how much of the log it learned from, and what it does not learn again
 *     {"forgotten":["…"]}  {"imported":["…"]}       marks of texts and messages, no texts
 *     {"user":"ada"}                                the same for each user
 *     {"end":{"lines":1234,"sha256":"…","seal":"…"}}
 *
 * Sessions that are deleted, and texts that were forgotten, are not in it.
 */
export interface ExportHeader {
  readonly rkat_export: number;
  readonly redacted: boolean;
}

export const EXPORT_VERSION = 1;

export interface ExportCounts {
  readonly sessions: number;
  readonly events: number;
  readonly memories: number;
  readonly knowledge: number;
  readonly users: number;
}

interface ExportOptions {
  readonly redact: boolean;
  readonly key: Uint8Array | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (lines: number) => void;
}

const PAGE = 500;

/** Writes what the stores have into a new file that only you can read, and syncs it to the disk. */
export async function writeExport(
  path: string,
  stores: Stores,
  options: ExportOptions,
): Promise<ExportCounts & { readonly bytes: number }> {
  const file = await open(path, "wx", 0o600);
  try {
    const lines = new Lines(file, options);
    const header: ExportHeader = { rkat_export: EXPORT_VERSION, redacted: options.redact };
    await lines.write(header);
    const all = [await writeNamespace(lines, stores, options)];
    const users = [...(await stores.users())].sort();
    for (const user of users) {
      await lines.write({ user });
      all.push(await writeNamespace(lines, stores.forUser(user), options));
    }
    await lines.end(options.key);
    await file.sync();
    const sum = (name: keyof NamespaceCounts) => all.reduce((total, each) => total + each[name], 0);
    return {
      sessions: sum("sessions"),
      events: sum("events"),
      memories: sum("memories"),
      knowledge: sum("knowledge"),
      users: users.length,
      bytes: (await file.stat()).size,
    };
  } finally {
    await file.close();
  }
}

type NamespaceCounts = Omit<ExportCounts, "users">;

type Namespace = Pick<Stores, "events" | "memory" | "knowledge" | "forgotten" | "imports">;

async function writeNamespace(
  lines: Lines,
  stores: Namespace,
  options: ExportOptions,
): Promise<NamespaceCounts> {
  const learned = await stores.knowledge.copy();
  const log = await writeLog(lines, stores, { ...options, learnedTo: learned.position });
  const known = new Set(learned.entries.map(({ entry }) => entry.id));
  const memories = await writeMemory(lines, stores, known);
  for (const { entry, ...rest } of learned.entries) {
    await lines.write({ knowledge: redactJson(withSnakeCase(entry)), ...rest });
  }
  const notAgain = [...learned.forgotten].sort();
  if (log.learned > 0 || notAgain.length > 0)
    await lines.write({ learned_events: log.learned, not_again: notAgain });
  // With these marks, a text that was forgotten can be guessed.
  const marks = options.redact ? [] : [...((await stores.forgotten?.copy()) ?? [])].sort();
  if (marks.length > 0) await lines.write({ forgotten: marks });
  await writeImported(lines, stores);
  return { ...log, memories, knowledge: learned.entries.length };
}

/** The events of all sessions in their order. Returns how many had been learned from, too. */
async function writeLog(
  lines: Lines,
  { events }: Namespace,
  { redact, signal, learnedTo }: ExportOptions & { readonly learnedTo: number },
) {
  /** Whether a session is deleted, by its id. */
  const sessions = new Map<string, boolean>();
  const counts = { sessions: 0, events: 0, learned: 0 };
  for (let after = 0; ; ) {
    signal.throwIfAborted();
    const page = await events.readAll(after, PAGE);
    const last = page.at(-1);
    if (!last) return counts;
    for (const { position, sessionId, stored } of page) {
      const isGone = sessions.get(sessionId) ?? (await isDeleted(sessionId, events));
      if (!sessions.has(sessionId) && !isGone) counts.sessions += 1;
      sessions.set(sessionId, isGone);
      if (isGone) continue;
      const { seq, event_id, timestamp_ms } = stored;
      const event: DurableEvent = redact ? redactEvent(stored.event) : stored.event;
      await lines.write({ session: sessionId, seq, event_id, timestamp_ms, event });
      counts.events += 1;
      if (position <= learnedTo) counts.learned = counts.events;
    }
    after = last.position;
  }
}

/** Entries of memory, but for those of what was learned: memory hears of that. */
async function writeMemory(
  lines: Lines,
  { memory }: Namespace,
  known: ReadonlySet<string>,
): Promise<number> {
  let count = 0;
  for (let after: string | undefined; ; ) {
    const page = await memory.list({ limit: PAGE, ...given({ after }) });
    if (page.length === 0) return count;
    for (const entry of page.filter(({ id }) => !known.has(id))) {
      // A credential may be in a text that an older version stored.
      await lines.write({ memory: redactJson(withSnakeCase(entry)) });
      count += 1;
    }
    after = page.at(-1)?.id;
  }
}

async function writeImported(lines: Lines, { imports }: Namespace): Promise<void> {
  for (let after = ""; ; ) {
    const imported = await imports.keys(after, PAGE);
    const last = imported.at(-1);
    if (last === undefined) return;
    await lines.write({ imported });
    after = last;
  }
}

/** The fields of an entry as they are in files. Those below them have names of one word. */
function withSnakeCase(entry: object): object {
  return Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [snakeCase(name), value as unknown]),
  );
}

const CHUNK_CHARACTERS = 1 << 18;

/** Writes lines into a file, in large steps, with a digest of all. */
class Lines {
  readonly #file: FileHandle;
  readonly #options: ExportOptions;
  readonly #digest = createHash("sha256");
  #text = "";
  #count = 0;

  constructor(file: FileHandle, options: ExportOptions) {
    this.#file = file;
    this.#options = options;
  }

  async write(line: object): Promise<void> {
    this.#text += `${JSON.stringify(line)}\n`;
    this.#count += 1;
    if (this.#text.length >= CHUNK_CHARACTERS) await this.#flush();
  }

  async end(key: Uint8Array | undefined): Promise<void> {
    await this.#flush();
    const sha256 = this.#digest.copy().digest("hex");
    const seal = key && sealOf(sealedText(sha256), key);
    await this.write({ end: { lines: this.#count, sha256, ...(seal ? { seal } : {}) } });
    await this.#flush();
  }

  async #flush(): Promise<void> {
    this.#options.signal.throwIfAborted();
    this.#digest.update(this.#text);
    // Unlike `write`, it writes all or fails.
    await this.#file.writeFile(this.#text);
    this.#text = "";
    this.#options.onProgress(this.#count);
  }
}

/** The text that the seal of an export is made of. */
export function sealedText(sha256: string): string {
  return JSON.stringify(["rkat_export", sha256]);
}
