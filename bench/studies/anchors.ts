// Does compaction keep the names and numbers of discarded messages within reach?
//
// Conversations are replayed through the real loop; the recording stands in for the
// model. The study then takes each path, identifier and number of the discarded
// messages. It looks for it in what the model would get next, and otherwise among
// the first five hits of a memory search for the words around its last mention,
// without the item itself. The patterns are the study's own, not the engine's.
//
//   node bench/studies/anchors.ts --data FOLDER [--threshold 8000] [--sample 60] [--per-set 3]
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { indexableText } from "../../src/core/message.ts";
import { MessageAssembler } from "../../src/core/message-assembler.ts";
import { SessionState } from "../../src/core/session-state.ts";
import type { MemoryStore } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { replayChat } from "../../test/support/replay-chat.ts";

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    threshold: { type: "string", default: "8000" },
    sample: { type: "string", default: "60" },
    "per-set": { type: "string", default: "3" },
  },
});
const SETS = ["locomo", "realtalk", "beam128k"];
const KINDS = {
  paths:
    /(?<![\w/])(?:[~.]{0,2}\/)?(?:[\w.-]+\/)+[\w-]+\.\w{1,5}\b|(?<![\w./])[\w-]+\.(?:py|js|ts|json|ya?ml|md|html|css|sql|db|txt|csv|sh|toml|conf|log)\b/g,
  identifiers:
    /(?<![\w.])(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Z]+(?:_[A-Z0-9]+)+|(?:[A-Z][a-z0-9]+){2,})(?!\w)/g,
  numbers: /(?<![\w.,:/-])\$?\d+(?:[.,:]\d+)*(?:%|(?:ms|s|GB|MB|KB|kg|km|px)\b)?(?![\w/-])/g,
};
type Kind = keyof typeof KINDS;
const SUMMARISERS = ["fallback", "one sentence"] as const;
const ONE_SENTENCE = "They talked, and the work goes on.";

/** How many words on each side of a mention a search uses. */
const NEIGHBOURS = 8;

interface Mention {
  readonly kind: Kind;
  readonly text: string;
  readonly around: string;
}

interface Reach {
  items: number;
  window: number;
  reached: number;
}

if (values.data === undefined || !existsSync(values.data)) {
  console.error("Name the folder of the conversations: --data FOLDER");
  process.exit(2);
}
console.log(
  `threshold ${values.threshold}; percent of the discarded items: in the window / in the window or found`,
);
console.log(
  "set        summary       anchors  paths                  identifiers            numbers",
);
for (const set of SETS) {
  const conversations = conversationsOf(join(values.data, set, "docs.jsonl"));
  for (const summariser of SUMMARISERS) {
    for (const keepAnchors of [false, true]) {
      const reach: Record<Kind, Reach> = { paths: none(), identifiers: none(), numbers: none() };
      for (const chat of conversations) await measure(chat, summariser, keepAnchors, reach);
      const cells = Object.values(reach).map(shares);
      console.log(
        [
          set.padEnd(10),
          summariser.padEnd(13),
          (keepAnchors ? "kept" : "lost").padEnd(8),
          ...cells,
        ].join(" "),
      );
    }
  }
}

async function measure(
  chat: Uint8Array,
  summariser: (typeof SUMMARISERS)[number],
  keepAnchors: boolean,
  reach: Record<Kind, Reach>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "rkat-bench-"));
  const stores = sqliteStores({ path: join(folder, "rkat.db"), thread: "main" });
  try {
    const { session_id } = await replayChat(chat, stores, {
      threshold: Number(values.threshold),
      keepAnchors,
      ...(summariser === "fallback" ? {} : { summarizer: scriptedModel(() => ONE_SENTENCE) }),
    });
    const read = (after: number, to?: number) => stores.events.read(session_id, after, to);
    const snapshot = await stores.sessions.load(session_id);
    if (!snapshot) throw new Error("The replay left no session.");
    const state = await SessionState.restore(snapshot, read);
    const held = new Set(state.history.map(({ id }) => id));
    const assembler = new MessageAssembler();
    const gone: string[] = [];
    for await (const stored of read(0)) {
      const logged = assembler.push(stored);
      if (logged && !held.has(logged.id)) gone.push(indexableText(logged.message));
    }
    const window = JSON.stringify(state.sentMessages);
    for (const mention of sampled(mentionsIn(gone))) {
      const of = reach[mention.kind];
      of.items += 1;
      if (has(window, mention.text)) {
        of.window += 1;
        of.reached += 1;
      } else if (await isFound(stores.memory, mention)) of.reached += 1;
    }
  } finally {
    await stores.close();
    await rm(folder, { recursive: true });
  }
}

async function isFound(memory: MemoryStore, { text, around }: Mention): Promise<boolean> {
  const hits = await memory.search({ query: around, limit: 5 });
  return hits.some(({ content }) => has(content, text));
}

/** The last mention of each path, identifier and number. */
function mentionsIn(texts: readonly string[]): Mention[] {
  const last = new Map<string, Mention>();
  for (const text of texts) {
    for (const kind of Object.keys(KINDS) as Kind[]) {
      for (const match of text.matchAll(KINDS[kind])) {
        const [found] = match;
        const before = text.slice(0, match.index).split(/\s+/).slice(-NEIGHBOURS);
        const after = text
          .slice(match.index + found.length)
          .split(/\s+/)
          .slice(0, NEIGHBOURS);
        const around = [...before, ...after].join(" ").replaceAll(found, " ").trim();
        if (around !== "") last.set(`${kind} ${found}`, { kind, text: found, around });
      }
    }
  }
  return [...last.values()];
}

/** An evenly spread sample of each kind. */
function sampled(mentions: readonly Mention[]): Mention[] {
  return [...Map.groupBy(mentions, ({ kind }) => kind).values()].flatMap((some) => {
    const step = Math.max(1, some.length / Number(values.sample));
    return some.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  });
}

function has(text: string, item: string): boolean {
  for (let at = text.indexOf(item); at >= 0; at = text.indexOf(item, at + 1)) {
    if (!/\w/.test(`${text[at - 1] ?? ""}${text[at + item.length] ?? ""}`)) return true;
  }
  return false;
}

/** Of two people, the first to speak is the user, and the other the assistant. */
function conversationsOf(file: string): Uint8Array[] {
  const said = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map(
      (line) =>
        JSON.parse(line) as Record<"conv" | "speaker" | "text" | "session" | "time", string>,
    );
  const conversations = [...Map.groupBy(said, ({ conv }) => conv).values()];
  return conversations.slice(0, Number(values["per-set"])).map((messages) => {
    const first = messages[0]?.speaker === "assistant" ? "user" : messages[0]?.speaker;
    const lines = messages.map(({ speaker, text, session, time }) => {
      const role = speaker === first || speaker === "user" ? "user" : "assistant";
      return JSON.stringify({ role, content: text, speaker, session, time });
    });
    return new TextEncoder().encode(lines.join("\n"));
  });
}

function none(): Reach {
  return { items: 0, window: 0, reached: 0 };
}

function shares({ items, window, reached }: Reach): string {
  const percent = (part: number) => ((100 * part) / Math.max(1, items)).toFixed(1).padStart(5);
  const count = `of ${items}`.padEnd(8);
  return items === 0 ? "-".padEnd(22) : `${percent(window)} /${percent(reached)} ${count}`;
}
