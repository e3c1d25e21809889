import {
  appendFile,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StoredEvent } from "../core/event.ts";
import type { EventStore, PositionedEvent } from "../core/event-store.ts";
import { newId } from "../core/ids.ts";
import type { Projection } from "../core/projection.ts";
import { foldSessionFile, newSessionFile, type SessionFile } from "./session-file.ts";

/** How far one session's files have come. */
interface Checkpoint {
  readonly last_seq: number;
  /** Length of `events.jsonl` in bytes when it had reached `last_seq`. */
  readonly events_len: number;
}

const START: Checkpoint = { last_seq: 0, events_len: 0 };

/**
 * Shows sessions as files, for people and for scripts:
 *
 *     .rkat/sessions/
 *     ├─ index.jsonl             a line for each session
 *     ├─ checkpoint              the position in the log that all of it has reached
 *     └─ <session id>/
 *        ├─ session.json         where the session stands
 *        ├─ events.jsonl         its log, a line for each event
 *        ├─ summary.txt          what the model said last
 *        └─ checkpoint           how far these files have come
 *
 * The files are never read back as truth. A session's checkpoint is written
 * last; what a crash left beyond it is cut off and written again, so that the
 * same log always gives the same bytes.
 */
export class SessionFiles implements Projection {
  readonly name = "session-files";
  readonly #events: Pick<EventStore, "read">;
  readonly #folder: string;

  constructor(events: Pick<EventStore, "read">, folder: string) {
    this.#events = events;
    this.#folder = folder;
  }

  async position(): Promise<number> {
    const text = await readText(join(this.#folder, "checkpoint"));
    const position = Number(text.trim());
    return Number.isSafeInteger(position) && position > 0 ? position : 0;
  }

  async apply(events: readonly PositionedEvent[]): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    const bySession = Map.groupBy(events, (event) => event.sessionId);
    for (const [sessionId, added] of bySession) {
      await this.#project(
        sessionId,
        added.map((event) => event.stored),
      );
    }
    await replaceFile(join(this.#folder, "checkpoint"), `${last.position}\n`);
  }

  /** Removes a session's files, because the session is being deleted. */
  async remove(sessionId: string): Promise<void> {
    await rm(join(this.#folder, sessionId), { recursive: true, force: true });
    const index = join(this.#folder, "index.jsonl");
    const lines = (await readText(index)).split("\n");
    const others = lines.filter((line) => line !== "" && indexedSession(line) !== sessionId);
    await replaceFile(index, others.map((line) => `${line}\n`).join(""));
  }

  async #project(sessionId: string, added: readonly StoredEvent[]): Promise<void> {
    const folder = join(this.#folder, sessionId);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (added.some(({ event }) => event.type === "text_forgotten")) await emptied(folder);
    const checkpoint = await healed(folder);
    const first = added[0]?.seq ?? 0;
    // Events that the batch lacks, because the files were cut back or removed, are in the log.
    const events =
      first === checkpoint.last_seq + 1
        ? added
        : await Array.fromAsync(this.#events.read(sessionId, checkpoint.last_seq));
    const { file, summary, isWritten } = await this.#fold(folder, sessionId, checkpoint, events);
    const session = join(folder, "session.json");
    const last = events.at(-1);
    if (!last) {
      if (!isWritten) await replaceFile(session, textOf(file));
      return;
    }
    const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("");
    await appendFile(join(folder, "events.jsonl"), lines, { mode: 0o600 });
    await replaceFile(session, textOf(file));
    if (summary !== undefined) await replaceFile(join(folder, "summary.txt"), `${summary}\n`);
    if (checkpoint.last_seq === 0) await this.#addToIndex(file);
    const reached: Checkpoint = {
      last_seq: last.seq,
      events_len: checkpoint.events_len + Buffer.byteLength(lines),
    };
    await replaceFile(join(folder, "checkpoint"), `${JSON.stringify(reached)}\n`);
  }

  async #fold(
    folder: string,
    sessionId: string,
    checkpoint: Checkpoint,
    events: readonly StoredEvent[],
  ): Promise<{ file: SessionFile; summary: string | undefined; isWritten: boolean }> {
    let file = newSessionFile(sessionId);
    const written = parseOr<SessionFile | undefined>(
      await readText(join(folder, "session.json")),
      undefined,
    );
    const isCurrent = written?.seq === checkpoint.last_seq;
    if (isCurrent) {
      file = written;
    } else if (checkpoint.last_seq > 0) {
      // The file ran ahead of its checkpoint, or is gone: fold it anew.
      for await (const stored of this.#events.read(sessionId, 0, checkpoint.last_seq)) {
        file = foldSessionFile(file, stored);
      }
    }
    for (const stored of events) file = foldSessionFile(file, stored);
    const said = events.findLast(
      ({ event }) => event.type === "text_complete" && event.content.trim() !== "",
    )?.event;
    const summary = said?.type === "text_complete" ? said.content : undefined;
    return { file, summary, isWritten: isCurrent && events.length === 0 };
  }

  async #addToIndex(file: SessionFile): Promise<void> {
    const index = join(this.#folder, "index.jsonl");
    const text = await readText(index);
    // A line that a crash cut short is dropped; a session that is there stays where it is.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    if (whole !== text) await replaceFile(index, whole);
    if (whole.split("\n").some((line) => line !== "" && indexedSession(line) === file.session_id)) {
      return;
    }
    const { session_id, created_at, model, labels } = file;
    const line = JSON.stringify({ session_id, created_at, model, labels });
    await appendFile(index, `${line}\n`, { mode: 0o600 });
  }
}

/** Cuts off what a crash left beyond the checkpoint, and starts again when the file falls short of it. */
async function healed(folder: string): Promise<Checkpoint> {
  const checkpoint = parseOr(await readText(join(folder, "checkpoint")), START);
  const events = join(folder, "events.jsonl");
  const size = await stat(events).then(
    (file) => file.size,
    () => 0,
  );
  if (!isCheckpoint(checkpoint) || size < checkpoint.events_len) {
    if (size > 0) await truncate(events, 0);
    return START;
  }
  if (size > checkpoint.events_len) await truncate(events, checkpoint.events_len);
  return checkpoint;
}

/** The log says less than it did: what the files say of it is written anew. */
async function emptied(folder: string): Promise<void> {
  for (const name of ["checkpoint", "events.jsonl", "summary.txt"]) {
    await rm(join(folder, name), { force: true });
  }
}

function textOf(file: SessionFile): string {
  return `${JSON.stringify(file, null, 2)}\n`;
}

function isCheckpoint(value: Checkpoint): boolean {
  return Number.isSafeInteger(value?.last_seq) && Number.isSafeInteger(value?.events_len);
}

function indexedSession(line: string): string | undefined {
  return parseOr<{ session_id?: string }>(line, {}).session_id;
}

function parseOr<T>(text: string, fallback: T): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    return fallback;
  }
}

/** The text of a file; empty when there is none. */
async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

/** Writes a file whole or not at all, for whoever looks at it in between. */
async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Two services of one process may write the same file at once.
  const temporary = `${path}.${newId()}.tmp`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}
