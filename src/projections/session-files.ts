import { readdirSync, type Stats } from "node:fs";
import { uptime } from "node:os";
import { dirname, join } from "node:path";
import { SessionError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { isUnreadable } from "../core/event-shape.ts";
import {
  type EventStore,
  isDeleted,
  type PositionedEvent,
  type Projection,
} from "../core/event-store.ts";
import { warn } from "../core/warn.ts";
import { WorkQueue } from "../core/work-queue.ts";
import {
  lookAt,
  lookAtFile,
  makeFolder,
  readText,
  remove,
  replaceFile,
  syncFolder,
  writeAt,
} from "../files/plain-files.ts";
import {
  type Checkpoint,
  foldSessionFile,
  newSessionFile,
  readCheckpoint,
  readSessionFile,
  type SessionFile,
} from "./session-file.ts";
import { SessionIndex } from "./session-index.ts";

/**
 * A system writes what it was given to the disk after at most so long. Linux does after 30 seconds, in the settings that
 * it has by itself (its documentation of `vm`: dirty_expire_centisecs).
 */
const WRITTEN_AFTER_MS = 300_000;

/** Sessions whose files are looked at before others have their turn. */
const LOOKED_AT_ONCE = 200;

const START: Checkpoint = { last_seq: 0, events_len: 0 };

/**
 * Runs `work` while no other process writes the files. If one did, because this process was suspended meanwhile, it is
 * run `again`.
 */
export type OneWriter = (work: (again?: "again") => Promise<void>) => Promise<void>;

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
 * it is cut off and written again, so the same log always gives the same bytes. Of all processes
 * one writes at a time. No link is followed.
 *
 * A file that is gone, or newer than its checkpoint because somebody else changed it, comes again from the log when a
 * process starts. Files are not synced, so power that fails may leave anything in those that were written last: once the
 * machine has started again, they are written again. What was removed is synced, so it stays removed. A link is left as it is, and its session is left out with a warning.
 */
export class SessionFiles implements Projection {
  readonly name = "session-files";
  readonly isLocal = true;
  readonly #events: Pick<EventStore, "read" | "lastSeq">;
  readonly #folder: string;
  readonly #oneWriter: OneWriter;
  /** The writes of this process, one after the other. For `OneWriter` all of them may be of the same process. */
  readonly #writes = new WorkQueue();
  readonly #index = new SessionIndex({
    look: () => this.#look(INDEX),
    read: () => this.#read(INDEX),
    replace: (text) => this.#replace(INDEX, text),
    writeAt: (text, offset) => this.#writeAt(INDEX, text, offset),
  });
  /** Whether this process has looked for lost files. */
  #isWhole = false;
  /** Sessions that were told to be left out. */
  readonly #leftOut = new Set<string>();

  constructor(
    events: Pick<EventStore, "read" | "lastSeq">,
    folder: string,
    oneWriter: OneWriter = (work) => work(),
  ) {
    this.#events = events;
    this.#folder = folder;
    this.#oneWriter = (work) => this.#writes.run(() => oneWriter(work));
  }

  /** The position that all files have reached. The first call brings lost files back, unless it is stopped. */
  async position(isStopped: () => boolean = () => false): Promise<number> {
    this.#isWhole ||= await this.#restoreLost(isStopped);
    return this.#reached;
  }

  get #reached(): number {
    const position = Number(this.#read("checkpoint").trim());
    return Number.isSafeInteger(position) && position > 0 ? position : 0;
  }

  async apply(events: readonly PositionedEvent[]): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    await this.#oneWriter(async (again) => {
      makeFolder(this.#root, this.#folder);
      if (again || this.#isNewer(INDEX, "checkpoint")) await this.#indexAgain();
      for (const [sessionId, added] of Map.groupBy(events, (event) => event.sessionId)) {
        if (!isPlainName(sessionId)) continue;
        const stored = added.map((event) => event.stored);
        // It may have been deleted, with its files, after these events were read.
        if (await isGone(sessionId, stored, this.#events)) {
          if (again) this.#removeFiles(sessionId);
          continue;
        }
        if (again) this.#startSessionAgain(sessionId);
        await this.#projectIfReadable(sessionId, stored);
      }
      // Another process may have come further meanwhile.
      this.#saveReached(Math.max(last.position, this.#reached));
    });
  }

  /** Forgets how far the files have come, so that all of them are written again from the log. */
  async startAgain(): Promise<void> {
    if (!lookAt(this.#root, this.#folder)) return;
    await this.#oneWriter(async () => {
      const found = readdirSync(this.#folder, { withFileTypes: true });
      for (const { name } of found.filter((one) => one.isDirectory() && isPlainName(one.name))) {
        this.#startSessionAgain(name);
      }
      for (const name of ["checkpoint", INDEX]) remove(this.#root, join(this.#folder, name));
    });
  }

  /** The number of sessions that have files. */
  get count(): number {
    return this.#index.sessionIds.length;
  }

  /** Removes a session's files, because the session is being deleted. */
  async remove(sessionId: string): Promise<void> {
    if (!isPlainName(sessionId) || !lookAt(this.#root, this.#folder)) return;
    await this.#oneWriter(async (again) => {
      if (again) await this.#indexAgain();
      this.#removeFiles(sessionId);
      this.#saveReached(this.#reached);
    });
  }

  #removeFiles(sessionId: string): void {
    remove(this.#root, join(this.#folder, sessionId));
    this.#index.remove(sessionId);
    syncFolder(this.#root, this.#folder);
  }

  /**
   * Writes the files that were deleted or changed. Without the checkpoint, all sessions are written again. Returns false
   * if it was stopped before it had looked at all of them: the next process looks again.
   */
  async #restoreLost(isStopped: () => boolean): Promise<boolean> {
    if (!lookAt(this.#root, this.#folder)) return true;
    const first = await this.#lookForLost(isStopped);
    if (!first) return false;
    const isAny = [first.unsynced, first.lost, first.unfinished].some(({ length }) => length > 0);
    if (!isAny && !first.isIndexLost) return true;
    const written = new Set<string>();
    let isWhole = true;
    await this.#oneWriter(async (again) => {
      // Another process may have deleted a session meanwhile.
      const found = await this.#lookForLost(isStopped);
      isWhole = found !== undefined;
      if (!found) return;
      const { unsynced, lost, isIndexLost, unfinished } = found;
      for (const name of unfinished) remove(this.#root, join(this.#folder, name));
      for (const sessionId of [...unsynced, ...written]) this.#startSessionAgain(sessionId);
      for (const sessionId of new Set([...unsynced, ...lost, ...written])) {
        if (await isDeleted(sessionId, this.#events)) {
          // A folder that the log never knew is its owner's.
          if (written.has(sessionId)) this.#removeFiles(sessionId);
          continue;
        }
        written.add(sessionId);
        await this.#projectIfReadable(sessionId, []);
      }
      isWhole = !(again || isIndexLost) || (await this.#indexAgain(isStopped));
      if (isWhole) this.#saveReached(this.#reached);
    });
    return isWhole;
  }

  /** The files that are not as they should be; undefined if it was stopped. It looks at all sessions, a few at a time. */
  async #lookForLost(isStopped: () => boolean) {
    const known = this.#known();
    const mayLack = this.#mayLack();
    const unsynced: string[] = [];
    const lost: string[] = [];
    for (const [at, id] of known.entries()) {
      if (await isOver(at, isStopped)) return undefined;
      if (this.#unlessLeftOut(id, () => mayLack(join(id, "checkpoint")))) unsynced.push(id);
      if (!this.#isIntact(id)) lost.push(id);
    }
    return {
      unsynced,
      lost,
      isIndexLost: known.length > 0 && (mayLack(INDEX) || this.#isNewer(INDEX, "checkpoint")),
      unfinished: readdirSync(this.#folder).filter((name) => UNFINISHED.test(name)),
    };
  }

  /** All files of the session are written again when it is projected next. */
  #startSessionAgain(sessionId: string): void {
    const checkpoint = join(this.#folder, sessionId, "checkpoint");
    this.#unlessLeftOut(sessionId, () => remove(this.#root, checkpoint));
  }

  /** Says of a file whether it may lack what was written: it was among the last before the machine was started. */
  #mayLack(): (name: string) => boolean {
    const last = this.#look("checkpoint")?.mtimeMs;
    if (last === undefined || last > Date.now() - 1000 * uptime()) return () => false;
    return (name) => (this.#look(name)?.mtimeMs ?? 0) > last - WRITTEN_AFTER_MS;
  }

  /** The answer to a question about a session's files; undefined, and told, when the session is left out. */
  #unlessLeftOut<Answer>(sessionId: string, ask: () => Answer): Answer | undefined {
    try {
      return ask();
    } catch (error) {
      this.#leaveOut(sessionId, error);
      return undefined;
    }
  }

  /** The sessions that have a folder or a line in the index, those of the index first. */
  #known(): readonly string[] {
    return [...new Set([...this.#index.sessionIds, ...readdirSync(this.#folder)])].filter(
      (id) => isPlainName(id) && !FILES.has(id),
    );
  }

  /**
   * Writes the index from the files of the sessions. Those without a line come in the order of their creation. Returns false,
   * and writes nothing, if it was stopped.
   */
  async #indexAgain(isStopped: () => boolean = () => false): Promise<boolean> {
    const place = new Map(this.#index.sessionIds.map((id, at) => [id, at]));
    const files: SessionFile[] = [];
    for (const [at, id] of this.#known().entries()) {
      if (await isOver(at, isStopped)) return false;
      const file = await this.#fileOf(id);
      if (file) files.push(file);
    }
    const orderOf = ({ session_id }: SessionFile) => place.get(session_id) ?? place.size;
    const ageOf = ({ created_at, session_id }: SessionFile) => `${created_at} ${session_id}`;
    files.sort(
      (one, other) => orderOf(one) - orderOf(other) || (ageOf(one) < ageOf(other) ? -1 : 1),
    );
    this.#index.replace(files);
    return true;
  }

  /** The index's row of a session; undefined when it has no files yet, or is left out. */
  async #fileOf(sessionId: string): Promise<SessionFile | undefined> {
    try {
      if (!this.#look(join(sessionId, "checkpoint"))) return undefined;
      if (!this.#written(sessionId)) await this.#projectIfReadable(sessionId, []);
      return this.#written(sessionId);
    } catch (error) {
      this.#leaveOut(sessionId, error);
      return undefined;
    }
  }

  #saveReached(position: number): void {
    this.#replace("checkpoint", `${position}\n`);
  }

  #written(sessionId: string): SessionFile | undefined {
    return readSessionFile(this.#read(join(sessionId, "session.json")), sessionId);
  }

  /**
   * Whether the files of a session are as rkat left them. All sessions are looked at when a process starts, so each file
   * is looked at once, and the folders above not again. Those that are links cannot be written either.
   */
  #isIntact(sessionId: string): boolean {
    const folder = join(this.#folder, sessionId);
    const changedAt = (name: string) =>
      lookAtFile(folder, join(folder, name))?.mtimeMs ?? Number.POSITIVE_INFINITY;
    try {
      if (!lookAt(this.#folder, folder)) return false;
      const last = changedAt("checkpoint");
      return Number.isFinite(last) && BEFORE_CHECKPOINT.every((name) => changedAt(name) <= last);
    } catch (error) {
      this.#leaveOut(sessionId, error);
      return true;
    }
  }

  /** Tells once that a session is left out, because one of its files is a link or belongs to another user. */
  #leaveOut(sessionId: string, error: unknown): void {
    if (!SessionError.is(error) || error.code !== "UNSAFE_FILE") throw error;
    if (!this.#leftOut.has(sessionId))
      warn(error, `The files of session ${sessionId} stay as they are.`);
    this.#leftOut.add(sessionId);
  }

  /** Whether a file was changed after the one that is always written last. */
  #isNewer(name: string, last: string): boolean {
    const limit = this.#look(last)?.mtimeMs;
    const found = this.#look(name)?.mtimeMs;
    return limit !== undefined && (found === undefined || found > limit);
  }

  #look(name: string): Stats | undefined {
    return lookAtFile(this.#root, join(this.#folder, name));
  }

  /** The files of a session whose log cannot be read stay as they are. The other sessions go on. */
  async #projectIfReadable(sessionId: string, added: readonly StoredEvent[]): Promise<void> {
    try {
      await this.#project(sessionId, added);
    } catch (error) {
      if (!isUnreadable(error)) this.#leaveOut(sessionId, error);
    }
  }

  async #project(sessionId: string, added: readonly StoredEvent[]): Promise<void> {
    makeFolder(this.#root, join(this.#folder, sessionId));
    const forgets = added.some(({ event }) => event.type === "text_forgotten");
    this.#clear(sessionId, forgets);
    const checkpoint = this.#checkpointOf(sessionId);
    const first = added[0]?.seq ?? 0;
    // Events that the batch lacks, because the files were cut back or removed, are in the log.
    const events =
      first === checkpoint.last_seq + 1
        ? added
        : await Array.fromAsync(this.#events.read(sessionId, checkpoint.last_seq));
    const { file, summary, isWritten } = await this.#fold(sessionId, checkpoint, events);
    const session = join(sessionId, "session.json");
    const last = events.at(-1);
    if (!last) {
      // The log does not know a session that was written into the index by hand.
      if (!isWritten && file.seq > 0) this.#replace(session, textOf(file));
      return;
    }
    const lines = linesOf(events.map((event) => JSON.stringify(event)));
    this.#writeAt(join(sessionId, "events.jsonl"), lines, checkpoint.events_len);
    this.#replace(session, textOf(file));
    if (summary !== undefined) this.#replace(join(sessionId, "summary.txt"), `${summary}\n`);
    if (checkpoint.last_seq === 0) this.#index.add(file);
    const reached: Checkpoint = {
      last_seq: last.seq,
      events_len: checkpoint.events_len + Buffer.byteLength(lines),
    };
    this.#replace(join(sessionId, "checkpoint"), `${JSON.stringify(reached)}\n`);
    if (forgets) syncFolder(this.#root, join(this.#folder, sessionId));
  }

  /** Removes the remains of an interrupted write and, when text was forgotten, all files that may still have it. */
  #clear(sessionId: string, forgets: boolean): void {
    const folder = join(this.#folder, sessionId);
    for (const name of readdirSync(folder)) {
      const isGone = name.endsWith(".tmp") || (forgets && OF_TEXTS.includes(name));
      if (isGone) remove(this.#root, join(folder, name));
    }
  }

  /**
   * The progress of a session's files. Events beyond the checkpoint are cut off; the files start again
   * when the events fall short of it.
   */
  #checkpointOf(sessionId: string): Checkpoint {
    const written = readCheckpoint(this.#read(join(sessionId, "checkpoint")));
    const log = join(sessionId, "events.jsonl");
    const size = this.#look(log)?.size ?? 0;
    const isOurs = BEFORE_CHECKPOINT.every(
      (name) => !this.#isNewer(join(sessionId, name), join(sessionId, "checkpoint")),
    );
    const checkpoint = written && isOurs && size >= written.events_len ? written : START;
    if (size > checkpoint.events_len) this.#writeAt(log, "", checkpoint.events_len);
    return checkpoint;
  }

  async #fold(
    sessionId: string,
    checkpoint: Checkpoint,
    events: readonly StoredEvent[],
  ): Promise<{ file: SessionFile; summary: string | undefined; isWritten: boolean }> {
    let file = newSessionFile(sessionId);
    const written = this.#written(sessionId);
    const isCurrent = checkpoint.last_seq > 0 && written?.seq === checkpoint.last_seq;
    if (isCurrent) {
      file = written;
    } else if (checkpoint.last_seq > 0) {
      // The file is ahead of its checkpoint, damaged or gone. Fold it from the start.
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

  /** The folder around the files. It is the caller's; below it, nothing is taken on trust. */
  get #root(): string {
    return dirname(this.#folder);
  }

  #read(name: string): string {
    return readText(this.#root, join(this.#folder, name));
  }

  #replace(name: string, text: string): void {
    replaceFile(this.#root, join(this.#folder, name), text);
  }

  #writeAt(name: string, text: string, offset: number): void {
    // A file with another name elsewhere would change there too.
    if ((this.#look(name)?.nlink ?? 1) > 1) this.#replace(name, this.#read(name));
    writeAt(this.#root, join(this.#folder, name), text, offset);
  }
}

/** Whether a session is deleted now. These were its last events when they were read. */
async function isGone(
  sessionId: string,
  read: readonly StoredEvent[],
  events: Pick<EventStore, "read" | "lastSeq">,
): Promise<boolean> {
  const last = read.at(-1);
  if (last?.event.type === "session_deleted") return true;
  if ((await events.lastSeq(sessionId)) === last?.seq) return false;
  return await isDeleted(sessionId, events);
}

/** Lets others have their turn before each part of the sessions, and then asks whether time is over. */
async function isOver(at: number, isStopped: () => boolean): Promise<boolean> {
  if (at % LOOKED_AT_ONCE > 0) return false;
  await new Promise((resolve) => setImmediate(resolve));
  return isStopped();
}

const INDEX = "index.jsonl";

/** Unfinished files beside the folders of sessions, which a killed process leaves. */
const UNFINISHED = /^(?:index\.jsonl|checkpoint)\.[0-9a-f-]{36}\.tmp$/;

/** Files beside the folders of sessions that could have the name of one. */
const FILES: ReadonlySet<string> = new Set(["checkpoint"]);

/** The files of a session that are written before its checkpoint. */
const BEFORE_CHECKPOINT: readonly string[] = ["events.jsonl", "session.json"];

/** The files of a session that have its messages. */
const OF_TEXTS: readonly string[] = ["checkpoint", "events.jsonl", "summary.txt"];

/** An id as rkat makes them. Another one in a store could lead out of the folder. */
function isPlainName(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,100}$/.test(id);
}

function linesOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

function textOf(file: SessionFile): string {
  return `${JSON.stringify(file, null, 2)}\n`;
}
