import { hasCapability, type Workspace } from "../config/workspace.ts";
import type { EventStore, HistoryHit, HistoryQuery } from "../core/event-store.ts";
import { bestMatchOf, type MemoryEntry } from "../core/memory-store.ts";
import { recalledText } from "../core/recalled.ts";
import { chooseRecords, inOrder, pinnedNotes, pinnedRecords } from "../recall/choose-records.ts";
import { mayBeInOutputs, OUTPUTS_SEARCHED, outputRecords } from "../recall/output-records.ts";
import { BAR_LEAST, recallQuery } from "../recall/recall-bar.ts";
import { memoryBar } from "../session/memory-bar.ts";
import { openMemoryOperations } from "../session/memory-operations.ts";
import { memoryOptions, openStores } from "./open-stores.ts";
import { actingFor, closeAll } from "./opened.ts";

export interface PromptElsewhere {
  readonly prompt: string;
  /** The session of another agent that it is given in. */
  readonly sessionId: string;
  /** Only sessions of this folder, in a store of many. */
  readonly project?: string;
  /** The bar of an earlier prompt, so that it is measured once. */
  readonly bar?: number | undefined;
  /** The most tokens of its records, where the agent's window has room for less than usual. */
  readonly tokensMax: number;
  /** Whether the agent's window is at its beginning: then it is shown what a person pinned. */
  readonly isFirst: boolean;
  /** When the last compaction took the agent's window away, ISO 8601. Empty before the first. */
  readonly left: string;
  /** Whether the agent's window shows nothing of an entry. */
  isNew(entry: MemoryEntry): boolean;
}

export interface FoundElsewhere {
  readonly bar: number | undefined;
  /** The records as a text, and their ids. */
  readonly text: string;
  readonly ids: readonly string[];
}

/** The records of a project's memory about a prompt that another agent gets. It loads as little as a search does. */
export async function recallForPrompt(
  workspace: Workspace,
  asking: PromptElsewhere,
): Promise<FoundElsewhere | undefined> {
  const { config } = workspace;
  const { prompt, sessionId, project, left, isFirst, isNew: isUnseen, bar: known } = asking;
  const tokensMax = Math.min(config.get("memory.recall_tokens"), asking.tokensMax);
  const query = recallQuery({ prompt });
  const recalls = hasCapability(config, "memory-store") && config.get("search.enabled");
  if (!recalls || tokensMax === 0 || (query === "" && !isFirst)) return undefined;
  const stores = await openStores(workspace, "existing");
  const options = memoryOptions(workspace, actingFor(workspace, stores));
  const operations = openMemoryOperations(options);
  try {
    const { memory } = options;
    if (!memory) return undefined;
    const notes = isFirst ? await pinnedNotes(memory) : [];
    const isAsked = query !== "";
    const hits = isAsked
      ? await operations.searchForRecall({ query, bar: known ?? BAR_LEAST, project })
      : [];
    const said =
      left !== "" && mayBeInOutputs(query)
        ? await outputsBefore(left, { query, sessionId }, stores.events)
        : [];
    const mayBeSure = bestMatchOf(hits) >= BAR_LEAST;
    if (!mayBeSure && said.length === 0 && notes.length === 0)
      return { bar: known, text: "", ids: [] };
    const refused = (await stores.sessions.load(sessionId))?.recall_refused ?? [];
    const isNew = (entry: MemoryEntry) => !refused.includes(entry.id) && isUnseen(entry);
    const asked = { query, sessionId, isNew };
    const pinned = pinnedRecords(notes, { ...asked, tokensMax });
    const room = tokensMax - (pinned?.tokens ?? 0);
    const outputs = outputRecords(said, { ...asked, tokensMax: room });
    const bar = mayBeSure ? (known ?? (await memoryBar(memory, options.stores?.events))) : known;
    const found = chooseRecords(hits, {
      ...asked,
      bar: bar ?? BAR_LEAST,
      tokensMax: room - outputs.tokens,
    });
    const others = inOrder([...(found?.records ?? []), ...outputs.records]);
    const first = pinned?.records ?? [];
    const ids = new Set(first.map(({ id }) => id));
    const records = [...first, ...others.filter(({ id }) => !ids.has(id))];
    return { bar, text: recalledText(records), ids: records.map(({ id }) => id) };
  } finally {
    await closeAll([operations, stores]);
  }
}

/**
 * What tools said in a session up to a time, found by words. Memory has no outputs of an imported session: its log has
 * them, as the tools gave them, so credentials are replaced here.
 */
async function outputsBefore(
  until: string,
  asked: Pick<HistoryQuery, "query" | "sessionId">,
  events: Pick<EventStore, "search">,
): Promise<readonly HistoryHit[]> {
  const found = await events.search({ ...asked, until, limit: OUTPUTS_SEARCHED });
  const outputs = found.filter(({ role }) => role === "tool");
  if (outputs.length === 0) return [];
  const { redactSecrets } = await import("../secrets/redact-secrets.ts");
  return outputs.map((hit) => ({ ...hit, content: redactSecrets(hit.content) }));
}
