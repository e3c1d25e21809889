import { SessionError } from "../core/errors.ts";
import type { HostRecord } from "../core/host-record.ts";
import { WRAPPED_NESTING_MAX, withinNesting } from "../core/json-values.ts";
import type { ClaudeEntry } from "./claude-entries.ts";
import { RecentlyUsed } from "./host-chats.ts";

/** The key of a transcript: of a session, or of one of its subagents (`subpath`). */
export interface ClaudeSessionKey {
  readonly projectKey: string;
  readonly sessionId: string;
  readonly subpath?: string;
}

/** The stored transcripts of Claude's sessions. */
export interface ClaudeTranscripts {
  recordOf(key: ClaudeSessionKey): HostRecord;
  /** All transcripts of a project, of one of its sessions, or of one of its subagents. */
  list(
    of: Partial<ClaudeSessionKey>,
  ): Promise<readonly { readonly key: ClaudeSessionKey; readonly changedAtMs: number }[]>;
  delete(key: ClaudeSessionKey): Promise<void>;
  close(): Promise<void>;
}

/** Transcripts whose entries stay in memory. The longest unused are read again from the store. */
const OPEN_MAX = 64;

/**
 * A `SessionStore` of the Claude Agent SDK in rkat's stores.
 *
 * Entries come back as they were given, in their order. One with a known `uuid` is not stored again.
 */
export class RkatSessionStore {
  readonly #transcripts: ClaudeTranscripts;
  readonly #open = new RecentlyUsed<Transcript>(OPEN_MAX);

  /** @internal The function of the door makes one. */
  constructor(transcripts: ClaudeTranscripts) {
    this.#transcripts = transcripts;
  }

  async append(key: ClaudeSessionKey, entries: readonly ClaudeEntry[]): Promise<void> {
    requireEntries(entries);
    await this.#transcriptOf(key).append(entries);
  }

  /** All entries; null when none was ever stored. */
  async load(key: ClaudeSessionKey): Promise<ClaudeEntry[] | null> {
    return await this.#transcriptOf(key).load();
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const all = await this.#transcripts.list({ projectKey });
    return all.flatMap(({ key: { sessionId, subpath }, changedAtMs }) =>
      subpath === undefined ? [{ sessionId, mtime: changedAtMs }] : [],
    );
  }

  async listSubkeys(of: { projectKey: string; sessionId: string }): Promise<string[]> {
    const all = await this.#transcripts.list(of);
    return all.flatMap(({ key: { subpath } }) => (subpath === undefined ? [] : [subpath]));
  }

  /** Deletes a transcript; of a session, those of its subagents too. */
  async delete(key: ClaudeSessionKey): Promise<void> {
    for (const { key: each } of await this.#transcripts.list(key)) {
      await this.#transcripts.delete(each);
      this.#open.delete(nameOf(each));
    }
  }

  /** Brings memory up to date. Call it before you close the stores. */
  close(): Promise<void> {
    return this.#transcripts.close();
  }

  #transcriptOf(key: ClaudeSessionKey): Transcript {
    requireKey(key);
    const name = nameOf(key);
    return this.#open.of(name, () => new Transcript(this.#transcripts.recordOf(key)));
  }
}

/** The entries of one transcript. */
class Transcript {
  readonly #record: HostRecord;
  /** The uuids of the first entries of the list. */
  #known = new Set<string>();
  #list: readonly unknown[] = [];
  #read = 0;

  constructor(record: HostRecord) {
    this.#record = record;
  }

  async append(entries: readonly ClaudeEntry[]): Promise<void> {
    await this.#record.change(({ items }) => {
      const known = new Set<string>();
      const isNew = ({ uuid }: ClaudeEntry) => {
        if (uuid === undefined) return true;
        if (this.#uuidsOf(items).has(uuid) || known.has(uuid)) return false;
        known.add(uuid);
        return true;
      };
      const added = entries.filter(isNew);
      return added.length === 0
        ? undefined
        : { items: structuredClone(withinNesting(added, WRAPPED_NESTING_MAX)) };
    });
  }

  async load(): Promise<ClaudeEntry[] | null> {
    const { items, changedAtMs } = await this.#record.read();
    return changedAtMs === 0 ? null : (structuredClone([...items]) as ClaudeEntry[]);
  }

  /** The uuids of a list. A list that has grown is read from where it ended. */
  #uuidsOf(items: readonly unknown[]): ReadonlySet<string> {
    if (items !== this.#list) {
      this.#known = new Set();
      this.#list = items;
      this.#read = 0;
    }
    for (; this.#read < items.length; this.#read += 1) {
      const { uuid } = items[this.#read] as ClaudeEntry;
      if (uuid !== undefined) this.#known.add(uuid);
    }
    return this.#known;
  }
}

function nameOf({ projectKey, sessionId, subpath = "" }: ClaudeSessionKey): string {
  return JSON.stringify([projectKey, sessionId, subpath]);
}

function requireKey(key: ClaudeSessionKey): void {
  const { projectKey, sessionId, subpath } = key ?? {};
  const isText = (value: unknown) => typeof value === "string" && value !== "";
  if (isText(projectKey) && isText(sessionId) && (subpath === undefined || isText(subpath))) return;
  throw new SessionError("INVALID_PARAMS", {
    message: "A session key needs `projectKey` and `sessionId`, and `subpath` only for a subagent.",
    hint: "Pass the key as the Claude Agent SDK makes it (`SessionKey`).",
  });
}

function requireEntries(entries: unknown): void {
  const isEntry = (entry: unknown) =>
    typeof entry === "object" &&
    entry !== null &&
    "type" in entry &&
    typeof entry.type === "string";
  if (Array.isArray(entries) && entries.every(isEntry)) return;
  throw new SessionError("INVALID_PARAMS", {
    message: "The entries of a transcript are objects with a `type`.",
    hint: "Pass them as the Claude Agent SDK gives them (`SessionStoreEntry`).",
  });
}
