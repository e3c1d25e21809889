import { hash } from "node:crypto";
import { basename, sep } from "node:path";
import { SessionError } from "../core/errors.ts";
import type { SessionSettings } from "../core/event.ts";
import type { PositionedEvent } from "../core/event-store.ts";
import type { ImportedFile } from "../core/import-store.ts";
import type { ImportReport } from "../core/operations/imports.ts";
import { isPlain } from "../text/visible-text.ts";
import { bytesAt, isYoung } from "../transcripts/found-file.ts";
import {
  type ImportedSession,
  type ImportFormat,
  type ImportNotes,
  printedId,
  type ReadOn,
} from "../transcripts/imported.ts";
import type { DiskFile } from "./disk-file.ts";
import {
  type FindOptions,
  type FoundTranscripts,
  filesInOrder,
  isStillBegun,
  looksLike,
  reasonOf,
  recogniseFile,
} from "./find-transcripts.ts";
import { GroupCommit } from "./group-commit.ts";
import { ImportTally } from "./import-report.ts";
import type {
  ImportPlace,
  ImportPlaces,
  ImportStores,
  StoringOptions,
  TitledSession,
} from "./import-stores.ts";
import { isMemoryTools, type Parts } from "./read-message.ts";
import { stamped } from "./session-log.ts";
import { storeSession } from "./store-session.ts";

const BATCH_PARTS = 2000;

const FORMATS =
  "Known are the transcripts and exports of the agents that `rkat import --help` names, lists of chat messages, and rkat's own logs";

/** The sources of an import, and its conditions. */
export interface ImportOptions extends FindOptions {
  /** Only sessions in which something was said since then, in Unix milliseconds. */
  readonly sinceMs?: number;
  /** Only sessions of this folder, or of one below it. */
  readonly project?: string;
  /** Whether subagents' messages go to memory. Default false. */
  readonly subagents?: boolean;
  /** Reads and counts everything, and stores nothing. */
  readonly dryRun?: boolean;
  /** The model of imported sessions that go on here, as `provider/model`. */
  readonly model: string;
  /** The parts in a batch of messages. Default 2000. */
  readonly batchParts?: number;
  /** The stores of sessions that do not go to the import's own store. */
  readonly places?: ImportPlaces;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ImportProgress) => void;
  /** Called after each batch, also when nothing of it is new, so that the log's followers can keep up. */
  readonly onStored?: (
    messages: number,
    events: readonly PositionedEvent[],
    stores: ImportStores,
  ) => Promise<void>;
}

export interface ImportProgress {
  readonly files: number;
  readonly filesDone: number;
  readonly bytes: number;
  readonly bytesDone: number;
  readonly added: number;
}

/** Imports the files that `findTranscripts` found. */
export async function importFiles(
  found: readonly FoundTranscripts[],
  stores: ImportStores,
  options: ImportOptions,
  tally: ImportTally = new ImportTally(),
): Promise<ImportReport> {
  const work = new ImportWork(stores, options, tally, found);
  for (const { format, files } of found) {
    for (const file of await work.inOrder(files)) await work.importFile(file, format);
  }
  await work.importPrinted();
  await work.settle();
  if (options.path !== undefined) tally.nameUnknownFiles(options.path);
  return tally.report();
}

/** One import, file by file. */
class ImportWork {
  readonly #stores: ImportStores;
  readonly #options: ImportOptions;
  readonly #tally: ImportTally;
  readonly #files: number;
  readonly #bytes: number;
  #known: ReadonlyMap<string, ImportedFile> | undefined;
  #filesDone = 0;
  #bytesDone = 0;
  readonly #trial: Set<string> | undefined;
  readonly #group: GroupCommit;
  readonly #found: readonly FoundTranscripts[];
  /** Paths of files that were begun. */
  readonly #begun = new Set<string>();
  /** Sessions that were read, and have messages. */
  readonly #read = new Set<string>();
  /** Files of what programs printed. They come last: their programs' own transcripts may be among the others. */
  readonly #printed: [DiskFile, ImportFormat][] = [];
  #isLast = false;

  constructor(
    stores: ImportStores,
    options: ImportOptions,
    tally: ImportTally,
    found: readonly FoundTranscripts[],
  ) {
    this.#stores = stores;
    this.#options = options;
    this.#tally = tally;
    this.#found = found;
    const files = found.flatMap((each) => each.files);
    this.#files = files.length;
    this.#bytes = files.reduce((sum, file) => sum + file.size, 0);
    this.#trial = options.dryRun ? new Set() : undefined;
    this.#group = new GroupCommit(stores.imports);
  }

  /** Resolves when all that was read is stored. */
  async settle(): Promise<void> {
    await this.#group.settle();
    this.#showProgress();
  }

  /** The files, and first those that have to be read, in their order. */
  async inOrder(files: readonly DiskFile[]): Promise<readonly DiskFile[]> {
    const known = await this.#knownFiles();
    const isNew = ({ path, stamp }: DiskFile) => known.get(path)?.stamp !== stamp;
    return [...(await filesInOrder(files.filter(isNew))), ...files.filter((file) => !isNew(file))];
  }

  async #knownFiles(): Promise<ReadonlyMap<string, ImportedFile>> {
    this.#known ??= await this.#stores.imports.files();
    return this.#known;
  }

  async importFile(file: DiskFile, format: ImportFormat | undefined): Promise<void> {
    const { signal, sinceMs, places, subagents = false } = this.#options;
    signal?.throwIfAborted();
    if (this.#begun.has(file.path)) return;
    this.#begun.add(file.path);
    const saved = (await this.#knownFiles()).get(file.path);
    const isThere = saved?.places?.every((mark) => places?.isThere(mark)) ?? true;
    const known = isThere ? saved : undefined;
    const isAsRead = known?.stamp === file.stamp && (known.subagents || !subagents);
    const isOld = sinceMs !== undefined && file.mtimeMs < sinceMs;
    // A file that was imported with conditions is not noted as read.
    if (isAsRead && this.#isWhole) {
      this.#tally.sessions += known.sessions;
      this.#tally.alreadyThere += known.messages;
    } else if (!isOld) {
      try {
        await this.#readFile(signal ? stoppable(file, signal) : file, known, format);
      } catch (error) {
        if (signal?.aborted || error instanceof SessionError) throw error;
        this.#tally.skip(file.path, undefined, `it cannot be read: ${reasonOf(error)}`);
      }
    }
    if (this.#group.isFull) await this.#group.settle();
    this.#filesDone += 1;
    this.#bytesDone += file.size;
    this.#showProgress();
  }

  async importPrinted(): Promise<void> {
    this.#isLast = true;
    for (const [file, format] of this.#printed) {
      this.#begun.delete(file.path);
      this.#filesDone -= 1;
      this.#bytesDone -= file.size;
      await this.importFile(file, format);
    }
  }

  /** Whether the program's own transcript of what it printed is imported, here or into the store of its project. */
  async #hasTranscript(
    { excerptOf = "", nativeId }: ImportedSession,
    file: DiskFile,
    { events }: ImportStores,
  ): Promise<boolean> {
    if (this.#read.has(excerptOf) || (await events.lastSeq(excerptOf)) > 0) return true;
    const known = [...(await this.#knownFiles())].filter(([, { messages }]) => messages > 0);
    const isIts = (path: string) => basename(path, ".zst").endsWith(`${nativeId}.jsonl`);
    return known.some(([path]) => path !== file.path && isIts(path));
  }

  /** Deletes a session in whose place another one is now, such as what a program printed, unless more was done with it here. */
  async #deleteReplaced(id: string, stores: ImportStores): Promise<void> {
    for (const { events, sessions } of new Set([stores, this.#stores])) {
      const lastSeq = await events.lastSeq(id);
      if (lastSeq === 0 || !(await isAsImported(id, events))) continue;
      await this.#group.settle();
      const event = { type: "session_deleted", session_id: id } as const;
      await events.append(id, lastSeq, [stamped(event, Date.now())]);
      // The next service that follows the log deletes whatever else was made of it.
      await sessions.delete(id);
    }
  }

  get #isWhole(): boolean {
    return this.#options.project === undefined && this.#options.sinceMs === undefined;
  }

  async #readFile(
    file: DiskFile,
    known: ImportedFile | undefined,
    given: ImportFormat | undefined,
  ): Promise<void> {
    // Some agents have several formats.
    const [its, ...others] = this.#options.formats.filter(({ agent }) => agent === known?.agent);
    const readOn = known && (await readOnOf(file, known));
    // Another file may have come in its place.
    const isGrown = (readOn?.offset ?? 0) > 0 && others.length === 0;
    const format = given ?? (isGrown ? its : undefined) ?? (await this.#recognise(file));
    if (!format && (await isStillBegun(file))) return this.#tally.isStillWritten(file.path);
    if (!format) {
      const { agent, formats } = this.#options;
      const other = agent && (await recogniseFile(file, formats))?.agent;
      // A folder has other files, too.
      if (other && this.#files > 1) return;
      if (other) {
        this.#tally.skip(file.path, undefined, `it is a transcript of ${other}, not of ${agent}`);
        return;
      }
      const looks = await looksLike(file);
      if (this.#files > 1) this.#tally.isNoTranscript(file.path, looks);
      else this.#tally.skip(file.path, undefined, `its format is not known. ${looks} ${FORMATS}`);
      return;
    }
    const from = format.agent === known?.agent ? readOn : undefined;
    let next: ReadOn | undefined;
    let messagesBefore = 0;
    const tally = this.#tally;
    const notes: ImportNotes = {
      skip: (at, line, reason) => tally.skip(at.path, line, reason),
      unknown: (type) => tally.unknown(type),
      otherBranch: (messages) => {
        tally.otherBranches += messages;
      },
      unfinished: (at) => tally.isStillWritten(at.path),
      readOn: (_, place) => {
        next = place;
      },
    };
    const onRead = (groups: readonly Parts[]) => {
      const line = next?.line ?? 0;
      messagesBefore += groups.filter(([first]) => (first.line ?? 0) < line).length;
    };
    let sessions = 0;
    let messages = 0;
    let isComplete = true;
    const marks = new Set(known?.places);
    for await (const session of format.read(file, notes, from)) {
      if (!this.#isWanted(session, file)) continue;
      const { id, excerptOf } = session;
      if (excerptOf !== undefined && !this.#isLast) {
        this.#printed.push([file, format]);
        return;
      }
      // Its name is that of its first answer, which is not there yet.
      if (excerptOf !== undefined && session.title === undefined && isYoung(file)) {
        return tally.isStillWritten(file.path);
      }
      if (this.#group.hasSession(id)) await this.#group.settle();
      const place = await this.#placeOf(session, file);
      if (place === null) {
        isComplete = false;
        continue;
      }
      const stores = place?.stores ?? this.#stores;
      if (excerptOf !== undefined && (await this.#hasTranscript(session, file, stores))) {
        tally.skip(file.path, undefined, "its session is there already, from its own transcript");
        continue;
      }
      if (place) marks.add(place.mark);
      await this.#importParent(session);
      if (session.isRest) {
        const before = known?.readOn?.messages ?? 0;
        messages += before;
        messagesBefore += before;
        tally.alreadyThere += before;
      }
      const count = await this.#store(session, file, place, onRead);
      if (count > 0) this.#read.add(id);
      if (count > 0 && !this.#trial) {
        await this.#deleteReplaced(printedId(id), stores);
        if (session.formerId) await this.#deleteReplaced(session.formerId, stores);
      }
      if (count > 0) sessions += 1;
      messages += count;
    }
    tally.sessions += sessions;
    // Many files of a folder are chats that were opened and left.
    const isNamed = this.#options.path !== undefined && this.#files === 1 && this.#isWhole;
    const hasNothing = isNamed && messages === 0 && tally.isEmpty;
    const isBegun = hasNothing && isYoung(file);
    if (isBegun) tally.isStillWritten(file.path);
    else if (hasNothing) tally.skip(file.path, undefined, "nothing that was said is in it");
    if (file.hasShrunk()) {
      tally.skip(file.path, undefined, "it became shorter while it was read");
    } else if (isComplete && (this.#isWhole || isHalf(next)) && !this.#trial) {
      const nextTime = next && {
        ...next,
        messages: messagesBefore,
        hash: await hashBefore(file, next.offset),
      };
      this.#group.saveFile(file.path, {
        agent: format.agent,
        stamp: next?.again || isBegun || !this.#isWhole ? "" : file.stamp,
        sessions,
        messages,
        ...(nextTime ? { readOn: nextTime } : {}),
        ...(this.#options.subagents ? { subagents: true } : {}),
        ...(marks.size > 0 ? { places: [...marks] } : {}),
      });
    }
  }

  /** A fork repeats the messages of its parent. They are the parent's, also when its file was changed later. */
  async #importParent({ agent, parent }: ImportedSession): Promise<void> {
    if (parent?.relation !== "fork") return;
    const id = parent.id.slice(`${agent}:`.length);
    for (const { format, files } of this.#found) {
      const file = files.find(({ path }) => basename(path).includes(id));
      if (id !== "" && file) await this.importFile(file, format);
    }
  }

  /** Undefined: the import's own store. Null: the session's store cannot be used. */
  async #placeOf(
    session: ImportedSession,
    file: DiskFile,
  ): Promise<ImportPlace | undefined | null> {
    try {
      return await this.#options.places?.placeOf(session);
    } catch (error) {
      this.#tally.skip(
        file.path,
        undefined,
        `the store of its project cannot be used: ${reasonOf(error)}`,
      );
      return null;
    }
  }

  async #store(
    session: ImportedSession,
    file: DiskFile,
    place: ImportPlace | undefined,
    onRead: StoringOptions["onRead"],
  ): Promise<number> {
    const { batchParts = BATCH_PARTS, onStored, signal } = this.#options;
    const stores = place?.stores ?? this.#stores;
    return await storeSession(session, {
      stores,
      tally: this.#tally,
      group: this.#group,
      batchParts,
      onRead,
      settingsOf: (each) => this.#settingsOf(each),
      ...(this.#trial ? { trial: this.#trial } : {}),
      // A file system has parts of milliseconds, and the log has not.
      timeMs: Math.floor(file.mtimeMs),
      signal,
      onStored: async (messages, events) => {
        this.#showProgress();
        this.#tally.addedTo(place?.name, session.id, messages);
        if (!this.#trial) await onStored?.(messages, events, stores);
      },
    });
  }

  #settingsOf(session: TitledSession): SessionSettings {
    const { subagents = false, model } = this.#options;
    const {
      agent,
      nativeId,
      project,
      branch,
      title,
      model: answering,
      startedAt,
      parent,
    } = session;
    return {
      model,
      memory: subagents || parent?.relation !== "subagent",
      labels: {},
      source: {
        agent,
        native_id: nativeId,
        ...(project === undefined ? {} : { project }),
        ...(branch === undefined ? {} : { branch }),
        ...(title === undefined ? {} : { title }),
        ...(answering === undefined ? {} : { model: answering }),
        ...(startedAt === undefined ? {} : { started_at: startedAt }),
        ...(parent === undefined ? {} : { parent }),
      },
    };
  }

  /** Whether a session is one that was asked for, and not the traffic of a memory tool. */
  #isWanted(session: ImportedSession, file: DiskFile): boolean {
    if (isMemoryTools(session)) {
      this.#tally.leftOut += 1;
      return false;
    }
    // Commands print ids, and people copy them.
    if (!isPlain(session.id)) {
      this.#tally.skip(file.path, undefined, "the id of a session has hidden characters");
      return false;
    }
    const { project, sinceMs } = this.#options;
    const updatedMs = Date.parse(session.updatedAt ?? "") || file.mtimeMs;
    const isHere = project === undefined || isBelow(project, session.project);
    return isHere && (sinceMs === undefined || updatedMs >= sinceMs);
  }

  async #recognise(file: DiskFile): Promise<ImportFormat | undefined> {
    const { formats, agent } = this.#options;
    return await recogniseFile(
      file,
      formats.filter((format) => agent === undefined || format.agent === agent),
    );
  }

  #showProgress(): void {
    this.#options.onProgress?.({
      files: this.#files,
      filesDone: this.#filesDone,
      bytes: this.#bytes,
      bytesDone: this.#bytesDone,
      added: this.#tally.added,
    });
  }
}

async function isAsImported(sessionId: string, events: ImportStores["events"]): Promise<boolean> {
  for await (const { event } of events.read(sessionId, 0)) {
    const isIts = event.type === "message_added" && event.imported !== undefined;
    const isAbout = event.type === "session_created" || event.type === "session_titled";
    if (!isIts && !isAbout) return false;
  }
  return true;
}

/** The file, whose reading ends with an error when the import is stopped. */
function stoppable(file: DiskFile, signal: AbortSignal): DiskFile {
  return {
    ...file,
    async *read(start, end) {
      for await (const chunk of file.read(start, end)) {
        signal.throwIfAborted();
        yield chunk;
      }
    },
  };
}

/** A file that is read whole each time, whose last message may have been half of it. Its other half is only known by this. */
function isHalf(next: ReadOn | undefined): boolean {
  return next?.line === 0 && next.state !== undefined;
}

const HASHED_BYTES = 64 * 1024;

/** The place where an earlier reading ended, if the file has only grown since. */
async function readOnOf(file: DiskFile, { readOn }: ImportedFile): Promise<ReadOn | undefined> {
  if (!readOn || readOn.offset > file.size) return undefined;
  if ((await hashBefore(file, readOn.offset)) !== readOn.hash) return undefined;
  return readOn;
}

async function hashBefore(file: DiskFile, offset: number): Promise<string> {
  const bytes = await bytesAt(file, Math.max(0, offset - HASHED_BYTES), offset);
  return hash("sha256", bytes);
}

function isBelow(folder: string, path: string | undefined): boolean {
  // The root ends with a separator, and so may what a program passes.
  const start = folder.endsWith(sep) ? folder : `${folder}${sep}`;
  return path !== undefined && `${path}${sep}`.startsWith(start);
}
