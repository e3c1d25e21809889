import { hasCapability, type Workspace } from "../config/workspace.ts";
import type { MemoryEntry } from "../core/memory-store.ts";
import { recalledText } from "../core/recalled.ts";
import { chooseRecords, inOrder, RECALL_SEARCH } from "../recall/choose-records.ts";
import { outputRecords } from "../recall/output-records.ts";
import { BAR_LEAST } from "../recall/recall-bar.ts";
import { recallQuery } from "../recall/recall-query.ts";
import { outputsBefore } from "../session/earlier-outputs.ts";
import { memoryBar } from "../session/memory-bar.ts";
import { openMemoryOperations } from "../session/memory-operations.ts";
import { actingFor, memoryOptions, openStores } from "./open-stores.ts";

export interface PromptElsewhere {
  readonly prompt: string;
  /** The session of another agent that it is given in. */
  readonly sessionId: string;
  /** Only sessions of this folder, in a store of many. */
  readonly project?: string;
  /** The bar of an earlier prompt, so that it is measured once. */
  readonly bar?: number | undefined;
  /** When the last compaction took the agent's window away, ISO 8601. Empty before the first. */
  readonly left: string;
  /** Whether the agent's window shows nothing of an entry. */
  isNew(entry: MemoryEntry): boolean;
}

export interface FoundElsewhere {
  readonly bar: number;
  /** The records as a text, and their ids. */
  readonly text: string;
  readonly ids: readonly string[];
}

/** The records of a project's memory about a prompt that another agent gets. It loads as little as a search does. */
export async function recallForPrompt(
  workspace: Workspace,
  { prompt, sessionId, project, left, isNew: isUnseen, bar: known }: PromptElsewhere,
): Promise<FoundElsewhere | undefined> {
  const { config } = workspace;
  const tokensMax = config.get("memory.recall_tokens");
  const query = recallQuery({ prompt });
  const recalls = hasCapability(config, "memory-store") && config.get("search.enabled");
  if (!recalls || tokensMax === 0 || query === "") return undefined;
  const stores = await openStores(workspace, "existing");
  try {
    const options = memoryOptions(workspace, actingFor(workspace, stores));
    const hits = await openMemoryOperations(options).searchMemory({
      ...RECALL_SEARCH,
      query,
      ...(project === undefined ? {} : { project }),
    });
    const said = left === "" ? [] : await outputsBefore(left, { query, sessionId }, stores.events);
    const mayBeSure = (hits[0]?.score ?? 0) >= BAR_LEAST;
    if (!options.memory || (!mayBeSure && said.length === 0)) return undefined;
    const refused = (await stores.sessions.load(sessionId))?.recall_refused ?? [];
    const isNew = (entry: MemoryEntry) => !refused.includes(entry.id) && isUnseen(entry);
    const asked = { query, sessionId, isNew };
    const outputs = outputRecords(said, { ...asked, tokensMax });
    const bar = known ?? (await memoryBar(options.memory, options.stores?.events));
    const room = tokensMax - outputs.tokens;
    const found = chooseRecords(hits, { ...asked, bar, tokensMax: room });
    const records = inOrder([...(found?.records ?? []), ...outputs.records]);
    return { bar, text: recalledText(records), ids: records.map(({ id }) => id) };
  } finally {
    await stores.close();
  }
}
