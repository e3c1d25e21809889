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

/** Where one session's files stand. */
interface Checkpoint {
  readonly last_seq: number;
  /** Length of `events.jsonl` in bytes when it had reached `last_seq`. */
  readonly events_len: number;
}

const START: Checkpoint = { last_seq: 0, events_len: 0 };

/**
 * Writes sessions as files, for people and scripts:
 *
 *     .rkat/sessions/
 *     ├─ index.jsonl             a line for each session
 *     ├─ checkpoint              the position in the log that all files have reached
 *     └─ <session id>/
 *        ├─ session.json         settings, counts and usage
 *        ├─ events.jsonl         its log, one event a line
 *        ├─ summary.txt          the last answer of the model
 *        └─ checkpoint           the last event in these files
 *
 * The log stays the truth. A session's checkpoint is written last. After a crash, everything beyond
 * it is cut off and written again, so the same log always gives the same bytes.
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

  /** Removes the files of a deleted session. */
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
    // After the files were cut back or removed, the batch lacks events that the log has.
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
      // The file is ahead of its checkpoint, or gone. Fold it from the start.
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
    // Drop a line that a crash cut short. Keep the place of a session that is listed already.
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

/** Cuts off what a crash left beyond the checkpoint. A file that is shorter than its checkpoint starts again. */
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

/** Removes the files of a session whose texts were forgotten, so that they are written again. */
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

/** Writes a file as a whole: a reader sees the old content or the new. */
async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Two services in one process may write the same file at the same time.
  const temporary = `${path}.${newId()}.tmp`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}
