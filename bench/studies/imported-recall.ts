import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { importTranscripts } from "../../src/app/import-transcripts.ts";
import type { MemoryEntry, MemoryStore } from "../../src/core/memory-store.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import type { Conversation } from "../data/conversation.ts";
import { type Measures, meanMeasures, measure } from "../recall/measures.ts";
import { LIMIT, percent, readSets, row, STUDY_OPTIONS } from "./recall-study.ts";

/**
 * Whether talk that was imported is found as well as the same talk that was added.
 *
 *     node bench/studies/imported-recall.ts --data FOLDER [--set locomo,realtalk]
 *
 * Each session becomes a transcript of Claude Code, in which the first speaker is the user and everybody else the
 * model. A transcript has no names, so what is added has none either.
 */

const { values } = parseArgs({ options: STUDY_OPTIONS });
console.log(
  row("set", ["added R@1", "imported", "added R@10", "imported", "added nDCG", "imported"]),
);
for (const { name, conversations } of readSets(values)) {
  const [added, imported] = [[] as Measures[], [] as Measures[]];
  for (const conversation of conversations) {
    const said = withRoles(conversation.entries);
    added.push(...(await recall(conversation, said, (stores) => stores.memory.add(said))));
    imported.push(...(await recall(conversation, said, importAll(said))));
  }
  const [one, other] = [meanMeasures(added), meanMeasures(imported)];
  const both = (measure: keyof Measures) => [percent(one[measure]), percent(other[measure])];
  console.log(row(name, [...both("recallAt1"), ...both("recallAt10"), ...both("ndcgAt10")]));
}

type Stores = ReturnType<typeof sqliteStores>;

async function recall(
  { questions }: Conversation,
  said: readonly MemoryEntry[],
  fill: (stores: Stores) => Promise<unknown>,
): Promise<Measures[]> {
  const stores = sqliteStores({ path: ":memory:" });
  try {
    await fill(stores);
    const find = finder(stores.memory, said);
    const measures: Measures[] = [];
    for (const question of questions) {
      if (question.relevant.length === 0) continue;
      measures.push(measure(await find(question.text), question));
    }
    return measures;
  } finally {
    await stores.close();
  }
}

/** Results are known by their texts: an import gives ids of its own. */
function finder(memory: MemoryStore, said: readonly MemoryEntry[]) {
  const ids = new Map(said.map(({ id, content }) => [content.trim(), id]));
  return async (query: string) => {
    const hits = await memory.search({ query, limit: LIMIT });
    return hits.map(({ content }) => ids.get(content.trim()) ?? "?");
  };
}

function withRoles(entries: readonly MemoryEntry[]): readonly MemoryEntry[] {
  const first = entries[0]?.speaker;
  return entries.map(({ speaker, ...entry }) => ({
    ...entry,
    role: speaker === first ? "user" : "assistant",
  }));
}

function importAll(said: readonly MemoryEntry[]) {
  return async (stores: Stores) => {
    const folder = mkdtempSync(join(tmpdir(), "rkat-imported-"));
    try {
      const sessions = Map.groupBy(said, ({ sessionId }) => sessionId);
      for (const [at, entries] of [...sessions.values()].entries())
        writeSession(folder, at, entries);
      await importTranscripts({ stores, path: folder });
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

function writeSession(folder: string, number: number, entries: readonly MemoryEntry[]): void {
  const sessionId = `session-${number}`;
  const lines = entries.map(({ content, role, time }, at) => {
    const uuid = `${sessionId}-${at}`;
    const message =
      role === "user"
        ? { role, content }
        : { id: `msg-${uuid}`, role, content: [{ type: "text", text: content }] };
    const parentUuid = at === 0 ? null : `${sessionId}-${at - 1}`;
    return JSON.stringify({ type: role, uuid, parentUuid, sessionId, timestamp: time, message });
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${sessionId}.jsonl`), `${lines.join("\n")}\n`);
}
