import { requestText } from "../compaction/summary-request.ts";
import type { Summarize } from "../compaction/write-summary.ts";
import { type Message, summaryMessage } from "../core/message.ts";
import type { Tool } from "../core/tool.ts";
import { contentText, listOf, objectOf } from "../transcripts/json-fields.ts";
import { isQuotedWhole, summarizeLeaving } from "../window/summarize-leaving.ts";
import { outputOf } from "./host-chats.ts";
import type { AgentPrompt, PromptRecords } from "./host-messages.ts";
import type { PiApi, PiContext, PiEntry, PiMessage, PiModel, PiUsage } from "./pi-api.ts";
import { fromPiMessages, textOfAnswer, typedIn, userMessage } from "./pi-messages.ts";
import { demandsInFile, demandsText, parentOf } from "./pi-parent.ts";
import { isToldRecords, recallIn } from "./pi-recall.ts";
import { continuedSummaries } from "./pi-summary.ts";

/** The work of the extension outside pi. */
export interface PiMemory {
  /** The tools of rkat's memory, for a project's folder. */
  tools(folder: string): readonly Tool[];
  /** The records of memory about a prompt. It never fails. */
  recall(prompt: AgentPrompt): Promise<PromptRecords | undefined>;
  /** The text of a session's file; empty if it cannot be read. */
  read(file: string): Promise<string>;
  /** Stores the new messages of a session's file. Returns the problem, if there was one. */
  record(file: string, folder: string): Promise<string | undefined>;
  close(): Promise<void>;
}

interface BeforeCompact {
  readonly preparation: {
    readonly firstKeptEntryId: string;
    readonly messagesToSummarize: readonly PiMessage[];
    readonly turnPrefixMessages: readonly PiMessage[];
    readonly previousSummary?: string;
    readonly tokensBefore: number;
    readonly settings: { readonly reserveTokens: number };
  };
  readonly branchEntries: readonly PiEntry[];
  readonly customInstructions?: string;
  readonly reason: "manual" | "threshold" | "overflow";
  readonly signal: AbortSignal;
}

interface CompactFailed {
  /** The user stopped it, or an extension did. */
  readonly aborted: boolean;
}

/**
 * An extension of pi. pi decides when to compact and what leaves. The summary is rkat's, and what left comes back with
 * the prompt that needs it:
 *
 *     before_agent_start ─► what memory has about the prompt
 *     context ─► the messages for the model, with the records before their prompts; the session keeps them beside it
 *     session_before_compact ─► summary, lost names, the user's words ─► pi keeps it, with `details`
 *                                  └ no summary: pi writes its own
 *     session_compact_failed ─► neither could: pi does not try again before the history has grown
 *     agent_settled, session_compact, session_shutdown ─► what is new in the session's file is recorded
 */
export function piExtensionWith(memory: PiMemory): (pi: PiApi) => void {
  return (pi) => {
    for (const { definition } of memory.tools("")) pi.registerTool(piTool(definition, memory));
    /** The parent's standing instructions, in a child that has no file of its own. */
    const demandsOf = async ({ sessionManager }: PiContext) => {
      const parent = parentOf(sessionManager.getSessionFile());
      return parent ? demandsInFile(await memory.read(parent)) : [];
    };
    /** The size of the history at the last attempt, and whether that attempt failed. */
    let attempt = { tokens: 0, failed: false };
    const continued = continuedSummaries(pi);
    pi.on("session_before_compact", async (event: BeforeCompact, context: PiContext) => {
      const { tokensBefore: tokens } = event.preparation;
      const grown = tokens - attempt.tokens;
      const wait = RETRY_AFTER_PART * (context.model?.contextWindow ?? 0);
      if (attempt.failed && event.reason === "threshold" && grown >= 0 && grown < wait) {
        return { cancel: true };
      }
      attempt = { tokens, failed: false };
      const demands = await demandsOf(context);
      return await compaction(event, context, demands, continued).catch((error: unknown) => {
        // A stop by the user is no error.
        if (event.signal.aborted) return { cancel: true };
        throw error;
      });
    });
    pi.on("session_compact_failed", ({ aborted }: CompactFailed) => {
      if (!aborted) attempt = { ...attempt, failed: true };
    });
    recallIn(pi, async (prompt, context) => {
      const found = await memory.recall(prompt);
      // The first records have the parent's demands, and a summary keeps these.
      const isTold = isToldRecords(context) && !found?.replaces;
      const text = isTold ? "" : demandsText(await demandsOf(context));
      const texts = [text, found?.text].filter(Boolean).join("\n");
      return texts === "" ? undefined : { text: texts, replaces: found?.replaces ?? false };
    });
    const record = async (_: unknown, { sessionManager, cwd, ui }: PiContext) => {
      const file = sessionManager.getSessionFile();
      const problem = file === undefined ? undefined : await memory.record(file, cwd);
      if (problem !== undefined)
        ui.notify(`rkat did not record the session. ${problem}`, "warning");
    };
    // pi does not wait for it.
    const start = (event: unknown, context: PiContext) => {
      // The session may be over by then, and what pi gave with it.
      record(event, context).catch(() => {});
    };
    pi.on("agent_settled", start);
    pi.on("session_compact", start);
    pi.on("session_shutdown", async (event, context) => {
      start(event, context);
      await memory.close();
    });
  };
}

/** The part of the window by which a history grows before pi tries again to compact it. */
const RETRY_AFTER_PART = 1 / 10;

async function compaction(
  { preparation, branchEntries, customInstructions, signal }: BeforeCompact,
  { model, modelRegistry }: PiContext,
  demands: readonly string[],
  continued: ReturnType<typeof continuedSummaries>,
) {
  if (!model) return undefined;
  const { messagesToSummarize, turnPrefixMessages, previousSummary } = preparation;
  const { tokensBefore } = preparation;
  const planned = branchEntries.findIndex(({ id }) => id === preparation.firstKeptEntryId);
  const { kept, quoted } = cutAfterRequest(branchEntries, planned, model.contextWindow);
  const firstKeptEntryId = branchEntries[kept]?.id ?? preparation.firstKeptEntryId;
  const leaving = [...messagesToSummarize, ...turnPrefixMessages, ...quoted];
  const usages: PiUsage[] = [];
  const ask = async (messages: readonly PiMessage[], options: object) => {
    const answer = await modelRegistry.complete(model, { messages }, options);
    usages.push(answer.usage);
    return answer;
  };
  const own: Summarize = async ({ messages, maxTokens, signal }) =>
    textOfAnswer(
      await ask([userMessage(requestText(messages), Date.now())], {
        ...{ maxTokens, signal, cacheRetention: "none" },
      }),
    );
  const summarize = continued(own, { entries: branchEntries, kept, model, ask });
  const written = await summarizeLeaving({
    leaving: [...summaryOf(previousSummary), ...fromPiMessages(leaving)],
    staying: fromPiMessages(messagesIn(branchEntries.slice(kept))),
    typed: [...demands, ...typedIn(messagesIn(branchEntries.slice(0, kept)))],
    summarize,
    contextWindow: model.contextWindow,
    userWordsTokens: wordsTokens(model, preparation.settings),
    ...(customInstructions === undefined ? {} : { instructions: customInstructions }),
    signal,
  });
  if (!written) return undefined;
  const { text: summary, report: details } = written;
  const [used, ...more] = usages;
  const usage = used && more.reduce(sum, used);
  return { compaction: { summary, firstKeptEntryId, tokensBefore, usage, details } };
}

/** Words of people may take a quarter of the history at which pi compacts: pi adds no room for them. */
function wordsTokens(
  { contextWindow }: PiModel,
  { reserveTokens }: BeforeCompact["preparation"]["settings"],
): number {
  return Math.max(0, Math.floor((contextWindow - reserveTokens) / 4));
}

/**
 * Where the history goes on after the summary. For the model a summary is a user message, and many local
 * servers refuse two of these in a row. A request that would follow it leaves too, and the summary quotes it:
 *
 *     pi's cut:  summary │ U A T A      rkat's:  summary with U │ A T A
 */
function cutAfterRequest(entries: readonly PiEntry[], planned: number, contextWindow: number) {
  if (planned < 0) return { kept: entries.length, quoted: [] };
  const asPlanned = { kept: planned, quoted: [] };
  const request = entries[planned]?.message;
  if (request?.role !== "user" || !isText(request.content)) return asPlanned;
  const next = entries.findIndex(({ type }, index) => index > planned && IN_HISTORY.has(type));
  if (entries[next]?.message?.role !== "assistant") return asPlanned;
  if (!isQuotedWhole(contentText(request.content), contextWindow)) return asPlanned;
  return { kept: next, quoted: [request] };
}

/** The types of pi's entries that its model sees, or that change what it sees. */
const IN_HISTORY: ReadonlySet<string> = new Set([
  "message",
  "custom_message",
  "branch_summary",
  "compaction",
  "context_edit",
]);

function isText(content: unknown): boolean {
  return (
    typeof content === "string" || listOf(content).every((part) => objectOf(part).type === "text")
  );
}

function summaryOf(text: string | undefined): readonly Message[] {
  return text === undefined ? [] : [summaryMessage(text)];
}

function messagesIn(entries: readonly PiEntry[]): readonly PiMessage[] {
  return entries.flatMap(({ type, message, content }): readonly PiMessage[] => {
    if (type === "message" && message) return [message];
    return type === "custom_message" ? [{ role: "custom", content }] : [];
  });
}

function sum(one: PiUsage, other: PiUsage): PiUsage {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries([...names].map((name) => [name, added(one[name], other[name])]));
}

function added(one: PiUsage[string], other: PiUsage[string]): PiUsage[string] {
  if (typeof one === "object" && typeof other === "object") return sum(one, other);
  if (typeof one === "number" && typeof other === "number") return one + other;
  return one ?? other;
}

function piTool(
  { name, description, input_schema: parameters }: Tool["definition"],
  memory: PiMemory,
) {
  const tool = {
    name,
    label: name,
    description,
    parameters,
    async execute(
      id: string,
      args: unknown,
      signal: AbortSignal | undefined,
      _: unknown,
      { cwd, sessionManager }: PiContext,
    ) {
      const own = memory.tools(cwd).find(({ definition }) => definition.name === name) as Tool;
      const chatId = `pi:${sessionManager.getSessionId()}`;
      const { content, is_error } = await outputOf(own, args, { chatId, id, signal });
      // pi takes a tool's error from the value that it throws.
      if (is_error) throw new Error(content);
      return { content: [{ type: "text", text: content }], details: undefined };
    },
  };
  return tool as never;
}
