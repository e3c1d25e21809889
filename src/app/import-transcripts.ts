import { systemHome } from "../config/config-places.ts";
import { SessionError } from "../core/errors.ts";
import type { PositionedEvent } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { ImportStore } from "../core/import-store.ts";
import type { MemoryScope } from "../core/memory-store.ts";
import { indexableText } from "../core/message.ts";
import type { ImportReport } from "../core/operations/imports.ts";
import {
  callback,
  flag,
  group,
  is,
  oneOf,
  requireOptions,
  someText,
  stores,
  text,
} from "../core/options.ts";
import { warnedOutages } from "../core/warn.ts";
import { withSpooled } from "../import/disk-file.ts";
import {
  type FoundTranscripts,
  findTranscripts,
  recogniseFile,
} from "../import/find-transcripts.ts";
import { type ImportOptions, type ImportProgress, importFiles } from "../import/import-files.ts";
import { ImportTally } from "../import/import-report.ts";
import type { ImportPlaces, ImportStores } from "../import/import-stores.ts";
import { RecentEvents } from "../projections/log-projection.ts";
import { MemoryIndex } from "../projections/memory-index.ts";
import { ProjectionRunner } from "../projections/projection-runner.ts";
import { IMPORT_FORMATS } from "../transcripts/import-formats.ts";
import type { AgentName } from "../transcripts/imported.ts";

/** The transcripts to import, and the stores that they go to. */
export interface ImportTranscriptsOptions {
  /** Such as `sqliteStores({ path })`. */
  readonly stores: ImportStores;
  /** Only this agent. */
  readonly agent?: AgentName;
  /** A file or a folder. Default: where the agents keep their transcripts on this machine. */
  readonly path?: string;
  /**
   * A file that is not on this disk, such as the body of a request. Nothing of it stays: it is written to a
   * private temporary file while it is imported.
   */
  readonly bytes?: AsyncIterable<Uint8Array>;
  /** The name of the file that `bytes` are of, for the report. Default `transcript`. */
  readonly name?: string;
  /** Only sessions in which something was said since then: ISO 8601. */
  readonly since?: string;
  /** Only sessions of this folder, or of one below it. */
  readonly project?: string;
  /** Whether messages of subagents are remembered. Default false. */
  readonly subagents?: boolean;
  /** Counts everything, and stores nothing. Default false. */
  readonly dryRun?: boolean;
  /** The `provider/model` of imported sessions that go on here. Default `none`. */
  readonly model?: string;
  /** Default `all`. */
  readonly memoryScope?: MemoryScope;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ImportProgress) => void;
}

const OPTIONS = group(
  {
    stores,
    agent: text,
    path: text,
    bytes: is("a stream of bytes", (value) => Object(value)[Symbol.asyncIterator] !== undefined),
    name: someText,
    since: someText,
    project: text,
    subagents: flag,
    dryRun: flag,
    model: text,
    memoryScope: oneOf("all", "discarded"),
    signal: is("an AbortSignal", (value) => value instanceof AbortSignal),
    onProgress: callback,
  },
  ["stores"],
);

/** Memory gets events in batches of so many. */
const MEMORY_BATCH = 3000;

/**
 * Imports conversations that other agents keep on this machine, or a file of them.
 *
 *     const report = await importTranscripts({ stores: sqliteStores({ path: "library.db" }) });
 *
 * Importing twice adds nothing. A file that has grown goes on where it was. Credentials are replaced before anything is
 * stored.
 *
 * @throws SessionError `INVALID_PARAMS` when the path cannot be read or the time is none
 */
export async function importTranscripts(options: ImportTranscriptsOptions): Promise<ImportReport> {
  requireOptions("importTranscripts", OPTIONS, options);
  const { bytes, name = "transcript", ...rest } = options;
  if (bytes === undefined) return (await importIntoPlaces(rest)).report();
  if (rest.path !== undefined) {
    throw new SessionError("INVALID_PARAMS", {
      message: "`path` and `bytes` exclude each other.",
      hint: "Give `path` for a file on this disk, or `bytes` and `name` for one that is not.",
    });
  }
  return await withSpooled(bytes, name, options.signal, async (path) => {
    const { imports } = rest.stores;
    // The next stream is another file, even if it has the same name.
    const unnoted: ImportStore = {
      known: (ids) => imports.known(ids),
      commit: (batches) => imports.commit(batches),
      files: async () => new Map(),
    };
    const stores = { ...rest.stores, imports: unnoted };
    const report = (await importIntoPlaces({ ...rest, stores, path })).report();
    const skipped = report.skipped.map((one) => (one.file === path ? { ...one, file: name } : one));
    return { ...report, skipped, stillWritten: report.stillWritten.map(() => name) };
  });
}

/** Like `importTranscripts`, but each session goes to the place that `places` says. */
export async function importIntoPlaces(
  {
    stores,
    since,
    model = "none",
    memoryScope,
    ...rest
  }: Omit<ImportTranscriptsOptions, "bytes" | "name"> &
    Partial<Pick<ImportOptions, "root" | "batchParts">>,
  places?: ImportPlaces,
): Promise<ImportTally> {
  const memories = new Map<ImportStores, MemoryCatchUp>();
  const work = {
    ...rest,
    ...thisMachine(),
    model,
    ...given({ places, sinceMs: since === undefined ? undefined : requireTime(since) }),
    async onStored(messages: number, events: readonly PositionedEvent[], to: ImportStores) {
      const memory = memories.get(to) ?? new MemoryCatchUp(to, memoryScope);
      memories.set(to, memory);
      memory.takeOf(messages, events);
    },
  };
  // Messages that a killed import stored are still missing in memory.
  if (!rest.dryRun) memories.set(stores, new MemoryCatchUp(stores, memoryScope));
  const tally = new ImportTally();
  try {
    await importFiles(findTranscripts(work, tally), stores, work, tally);
    return tally;
  } finally {
    for (const memory of memories.values()) await memory.takeAll();
  }
}

/**
 * Gives memory the stored messages, while more are read and stored. Only full batches: a small one costs as much. Nothing
 * waits for memory before the end of the import: what it does not have yet is in the log.
 */
class MemoryCatchUp {
  readonly #runner: ProjectionRunner;
  readonly #recent: RecentEvents;
  /** The number of messages that memory does not have yet. */
  #waiting = 0;
  #running: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor({ events, memory }: ImportStores, scope: MemoryScope | undefined) {
    const recent = new RecentEvents(events);
    const writtenTo = (sessionId: string, seq: number) => recent.writtenTo(sessionId, seq);
    const index = memory && new MemoryIndex(events, memory, { ...given({ scope }), writtenTo });
    this.#recent = recent;
    this.#runner = new ProjectionRunner(recent, index ? [index] : [], warnedOutages, {
      batch: MEMORY_BATCH,
    });
  }

  /** Starts to work when there is a full batch. */
  takeOf(messages: number, events: readonly PositionedEvent[]): void {
    if (this.#failure) throw this.#failure.error;
    this.#recent.add(events.map(asMemoryNeedsIt));
    this.#waiting += messages;
    if (this.#waiting < MEMORY_BATCH) return;
    this.#running ??= this.#takeFull()
      .catch((error) => {
        this.#failure = { error };
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async #takeFull(): Promise<void> {
    while (this.#waiting >= MEMORY_BATCH) {
      const taken = await this.#runner.step();
      this.#waiting = taken > 0 ? this.#waiting - taken : 0;
    }
  }

  async takeAll(): Promise<void> {
    await this.#running;
    await this.#runner.flush();
  }
}

/** An event that waits for memory, without the tools' output, which is most of it. */
function asMemoryNeedsIt(positioned: PositionedEvent): PositionedEvent {
  const { stored } = positioned;
  const { event } = stored;
  if (event.type !== "message_added") return positioned;
  const role = event.message.role === "user" ? "user" : "assistant";
  const message = { role, content: indexableText(event.message) } as const;
  return { ...positioned, stored: { ...stored, event: { ...event, message } } };
}

/** The transcripts that can be imported from this machine, or from a path. */
export function findImportable(
  options: Pick<ImportTranscriptsOptions, "agent" | "path">,
): readonly FoundTranscripts[] {
  return findTranscripts({ ...options, ...thisMachine() });
}

/** Whether one of the files is a transcript. Without one, an import need not make a store. */
export async function isAnyImportable(
  options: Pick<ImportTranscriptsOptions, "agent" | "path">,
): Promise<boolean> {
  for (const { format, files } of findImportable(options)) {
    if (format && files.length > 0) return true;
    for (const file of files) {
      // The import reports the problem of a file that cannot be read.
      if (await recogniseFile(file, IMPORT_FORMATS).catch(() => undefined)) return true;
    }
  }
  return false;
}

function thisMachine() {
  return { formats: IMPORT_FORMATS, machine: { env: process.env, home: systemHome(process.env) } };
}

function requireTime(time: string): number {
  const ms = Date.parse(time);
  if (!Number.isNaN(ms)) return ms;
  throw new SessionError("INVALID_PARAMS", {
    message: `"${time}" is not a time.`,
    hint: "Use ISO 8601, such as 2026-01-20.",
  });
}
