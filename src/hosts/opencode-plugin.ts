import { DefaultCompactor } from "../compaction/default-compactor.ts";
import { contentText, isSummary, type Message } from "../core/message.ts";
import type { ImportNotes } from "../transcripts/imported.ts";
import { type Json, nameOf, objectOf } from "../transcripts/json-fields.ts";
import { messageParts } from "../transcripts/opencode/opencode-parts.ts";
import { completeSummary, type SummaryReport } from "../window/summarize-leaving.ts";

/** The part of what opencode gives its plugins that is used here. */
export interface OpencodeInput {
  readonly directory: string;
  readonly client: {
    readonly session: {
      messages(request: { path: { id: string } }): PromiseLike<{ data?: unknown }>;
    };
    readonly app: { log(request: { body: OpencodeLog }): PromiseLike<unknown> };
  };
}

export interface OpencodeLog {
  service: string;
  level: "info" | "warn";
  message: string;
  extra?: Record<string, unknown>;
}

/** What the plugin does outside opencode. */
export interface OpencodeMemory {
  /** Stores what was said since then in the sessions of a folder. Returns what went wrong. */
  record(folder: string, since: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** The hooks of the plugin. */
export interface OpencodeHooks {
  event(input: { event: { readonly type: string; readonly properties?: unknown } }): Promise<void>;
  "experimental.session.compacting"(
    input: { sessionID: string },
    output: { prompt?: string },
  ): Promise<void>;
  "experimental.text.complete"(
    input: { sessionID: string; messageID: string },
    output: { text: string },
  ): Promise<void>;
  dispose(): Promise<void>;
}

/** Bytes of a summary with the names that are added to it: 4 096 tokens. */
const SUMMARY_BYTES_MAX = 4 * 4096;

/**
 * A plugin of opencode. opencode decides when to compact, what leaves, and which model writes:
 *
 *     experimental.session.compacting ─► rkat's prompt ─► the model writes a summary
 *     experimental.text.complete ◄───────────────────────────┘ gets lost names and the user's words
 *     session.idle, session.compacted ─► what is new in the sessions is recorded
 */
export function opencodePluginWith(
  memory: OpencodeMemory,
): (input: OpencodeInput) => Promise<OpencodeHooks> {
  return async ({ client, directory }) => {
    const since = new Date().toISOString();
    /** Sessions whose summary is being written. */
    const compacting = new Set<string>();
    const log = async (level: OpencodeLog["level"], message: string, extra?: object) => {
      const body = { service: "rkat", level, message, ...(extra ? { extra: { ...extra } } : {}) };
      await client.app.log({ body });
    };
    const record = async () => {
      const problem = await memory.record(directory, since);
      if (problem !== undefined) await log("warn", `The session was not recorded. ${problem}`);
    };
    return {
      async event({ event: { type, properties } }) {
        if (type !== "session.idle" && type !== "session.compacted") return;
        compacting.delete(String(objectOf(properties).sessionID));
        // opencode does not wait for it.
        record().catch(() => {});
      },
      async "experimental.session.compacting"({ sessionID }, output) {
        compacting.add(sessionID);
        output.prompt = new DefaultCompactor().compactionPrompt();
      },
      async "experimental.text.complete"({ sessionID, messageID }, output) {
        if (!compacting.has(sessionID)) return;
        try {
          const { data } = await client.session.messages({ path: { id: sessionID } });
          const left = beforeSummary(Array.isArray(data) ? data : [], messageID);
          if (!left) return;
          const { text, report } = completeSummary(output.text, left, SUMMARY_BYTES_MAX);
          output.text = text;
          compacting.delete(sessionID);
          await log("info", describe(report), report);
        } catch (error) {
          // The summary stays as the model wrote it.
          await log("warn", `The summary was not completed. ${String(error)}`).catch(() => {});
        }
      },
      dispose: () => memory.close(),
    };
  };
}

/** What the summary in this message stands for. Undefined when there is no summary in it. */
function beforeSummary(stored: readonly unknown[], messageID: string) {
  const records = stored.map(objectOf);
  const at = records.findIndex(({ info }) => objectOf(info).id === messageID);
  if (at < 0 || objectOf(records[at]?.info).summary !== true) return undefined;
  const messages = records.slice(0, at).flatMap(messagesOf);
  const last = messages.findLastIndex(isSummary);
  const typed = messages.flatMap((message) =>
    message.role === "user" && !isSummary(message) ? [contentText(message.content)] : [],
  );
  return { leaving: messages.slice(Math.max(0, last)), staying: [], typed };
}

function messagesOf({ info, parts }: Json): readonly Message[] {
  const about = objectOf(info);
  const list = Array.isArray(parts) ? parts.map(objectOf) : [];
  const read = messageParts(about, list, nameOf(about.id) ?? "", UNNOTED);
  return [...read].map(({ message }) => message);
}

const UNNOTED: ImportNotes = {
  skip() {},
  unknown() {},
  otherBranch() {},
  unfinished() {},
  readOn() {},
};

function describe({ anchors, quoted }: SummaryReport): string {
  const names = anchors
    ? `Of ${anchors.found} names and numbers, ${anchors.appended} were added to the summary, and ${anchors.only_in_memory} are in memory only.`
    : "";
  return `${names} ${quoted.instructions.length} instructions are quoted.`.trim();
}
