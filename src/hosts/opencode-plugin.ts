import { DefaultCompactor } from "../compaction/default-compactor.ts";
import { contentText, isSummary, type Message } from "../core/message.ts";
import type { ImportNotes } from "../transcripts/imported.ts";
import { type Json, listOf, nameOf, objectOf } from "../transcripts/json-fields.ts";
import { messageParts } from "../transcripts/opencode/opencode-parts.ts";
import { completeSummary, type SummaryReport, withoutQuotes } from "../window/summarize-leaving.ts";
import type { AgentPrompt, PromptRecords } from "./host-messages.ts";

/** The used part of the input that opencode gives its plugins. */
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

/** The work of the plugin outside opencode. */
export interface OpencodeMemory {
  /** The records of memory about a prompt. It never fails. */
  recall(prompt: AgentPrompt): Promise<PromptRecords | undefined>;
  /** Stores the later messages of the sessions of a folder. Returns the problem, if there was one. */
  record(folder: string, since: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A part of a message that opencode stores. */
export interface OpencodePart {
  readonly id: string;
  readonly sessionID: string;
  readonly messageID: string;
  readonly type: string;
  readonly text?: string;
  /** A program wrote it. */
  readonly synthetic?: boolean;
}

/** The hooks of the plugin. */
export interface OpencodeHooks {
  event(input: { event: { readonly type: string; readonly properties?: unknown } }): Promise<void>;
  "chat.message"(
    input: { sessionID: string },
    output: { message: { readonly id: string }; parts: OpencodePart[] },
  ): Promise<void>;
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
 *     chat.message ─► what memory has about the prompt stands before it, as a part that a program wrote
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
    const storedIn = async (sessionID: string): Promise<readonly Json[]> => {
      const { data } = await client.session.messages({ path: { id: sessionID } });
      return Array.isArray(data) ? data.map(objectOf) : [];
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
      async "chat.message"({ sessionID }, { message, parts }) {
        const prompt = parts.flatMap(typedPart).join("\n");
        const [first] = parts;
        if (!first || prompt === "") return;
        try {
          const windowFrom = windowStart(await storedIn(sessionID));
          const asked = { sessionId: sessionID, folder: directory, prompt, windowFrom };
          const { text } = (await memory.recall(asked)) ?? {};
          if (text === undefined) return;
          // opencode sends the parts of a message in the order of their ids, which begin with the time.
          const id = `prt_0${first.id.slice("prt_".length)}`;
          parts.unshift({
            id,
            sessionID,
            messageID: message.id,
            type: "text",
            synthetic: true,
            text,
          });
        } catch (error) {
          await log("warn", `Memory was not asked. ${String(error)}`).catch(() => {});
        }
      },
      async "experimental.session.compacting"({ sessionID }, output) {
        compacting.add(sessionID);
        const prompt = new DefaultCompactor().compactionPrompt();
        output.prompt = prompt;
        try {
          output.prompt = [prompt, ...lastSummary(await storedIn(sessionID))].join("\n\n");
        } catch (error) {
          const problem = `The summary before is not in the prompt. ${String(error)}`;
          await log("warn", problem).catch(() => {});
        }
      },
      async "experimental.text.complete"({ sessionID, messageID }, output) {
        if (!compacting.has(sessionID)) return;
        try {
          const left = beforeSummary(await storedIn(sessionID), messageID);
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

/** opencode shows the last summary to a prompt of its own only. With another one, the model has to read it there. */
function lastSummary(records: readonly Json[]): readonly string[] {
  const summaries = records.filter(isSummaryRecord).flatMap(messagesOf);
  const last = summaries.map(withoutQuotes).at(-1);
  if (last?.role !== "user") return [];
  return [
    "The history begins after this summary of what came before it:",
    contentText(last.content),
  ];
}

/** The messages that the summary in this message stands for. Undefined when it has no summary. */
function beforeSummary(records: readonly Json[], messageID: string) {
  const at = indexOf(records, messageID);
  if (at < 0 || !isSummaryRecord(records[at])) return undefined;
  const tail = tailOf(records, at);
  const sent = sentBefore(records, at);
  const kept = sent.indexOf(records[tail] as Json);
  const [leaving, staying] = kept < 0 ? [sent, []] : [sent.slice(0, kept), sent.slice(kept)];
  const typed = records.slice(0, tail).flatMap(messagesOf).flatMap(typedText);
  return { leaving: leaving.flatMap(messagesOf), staying: staying.flatMap(messagesOf), typed };
}

/**
 * The messages that a model was sent before a compaction. opencode keeps the end of a history, and stores the summary after it:
 *
 *     stored   m0  m1  m2  summary  m3  m4
 *     sent     summary  m2  m3  m4             m2 is the end that was kept
 */
function sentBefore(records: readonly Json[], at: number): readonly Json[] {
  const last = records.slice(0, at).findLastIndex(isSummaryRecord);
  if (last < 0) return records.slice(0, at);
  const kept = records.slice(tailOf(records, last), last);
  return [...records.slice(last, last + 1), ...kept, ...records.slice(last + 1, at)];
}

/** The start of the kept end, for a summary at a position. */
function tailOf(records: readonly Json[], at: number): number {
  const request = indexOf(records, objectOf(records[at]?.info).parentID);
  const parts = listOf(records[request]?.parts).map(objectOf);
  const start = parts.find(({ type }) => type === "compaction")?.tail_start_id;
  const tail = start === undefined ? -1 : indexOf(records, start);
  return tail < 0 || tail > at ? at : tail;
}

/** The words that a person typed in a part. */
function typedPart({ type, text = "", synthetic = false }: OpencodePart): readonly string[] {
  return type === "text" && !synthetic && text !== "" ? [text] : [];
}

/** When the oldest message was said that the last compaction kept. */
function windowStart(records: readonly Json[]): string | undefined {
  const at = records.findLastIndex(isSummaryRecord);
  if (at < 0) return undefined;
  const { created } = objectOf(objectOf(records[tailOf(records, at)]?.info).time);
  return typeof created === "number" ? new Date(created).toISOString() : undefined;
}

function indexOf(records: readonly Json[], id: unknown): number {
  return records.findIndex(({ info }) => objectOf(info).id === id);
}

function isSummaryRecord(record: Json | undefined): boolean {
  return objectOf(record?.info).summary === true;
}

function typedText(message: Message): readonly string[] {
  return message.role === "user" && !isSummary(message) ? [contentText(message.content)] : [];
}

function messagesOf({ info, parts }: Json): readonly Message[] {
  const about = objectOf(info);
  const read = messageParts(about, listOf(parts).map(objectOf), nameOf(about.id) ?? "", UNNOTED);
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
