/**
 * `npm start`: replays a recorded working session through a window that is much
 * too small for it, shows each compaction, and then asks memory for what
 * left the window. No key, no network.
 */
import { createReadStream, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { thousands } from "../src/cli/render/amounts.ts";
import { makeStore } from "../src/config/store-file.ts";
import { openWorkspace } from "../src/config/workspace.ts";
import { createSessionService } from "../src/index.ts";
import { Replay } from "../src/replay/replay.ts";
import type { ReplayReport } from "../src/replay/replayed-session.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { readTranscript } from "../src/transcripts/read-transcript.ts";
import { askMemory, type Question } from "./ask-memory.ts";
import { showCompaction, showTurn } from "./show-replay.ts";
import { Stage } from "./stage.ts";

/** Tokens that the history may take: a quarter of the conversation. */
const THRESHOLD = 9000;
const COMPACTIONS_MIN = 3;

const stage = new Stage();
const { style } = stage;
const folder = process.argv[2] ?? emptyFolder(".rkat-demo");
// Made as the command makes it, so that the command trusts it.
const workspace = await openWorkspace({ cwd: process.cwd(), env: process.env }, folder);
makeStore(workspace, process.env);
const stores = sqliteStores({ path: workspace.storeFile });
try {
  const report = await replayConversation();
  const found = await ask(report.session_id);
  if (!found || report.compactions.length < COMPACTIONS_MIN) process.exitCode = 1;
  sayWhatNext();
} finally {
  await stores.close();
}

async function replayConversation(): Promise<ReplayReport> {
  const file = new URL("conversation.jsonl", import.meta.url);
  const recording = await readTranscript(createReadStream(file), "conversation.jsonl");
  const replay = new Replay(recording);
  stage.say(style.bold("1. A long conversation in a small window"));
  stage.say(
    `An engineer and an agent, recorded: ${recording.messages.length} messages. When the history reaches`,
  );
  stage.say(
    `${thousands(THRESHOLD)} tokens, its old turns go to memory and a summary takes their place.`,
  );
  stage.say();
  const service = createSessionService({
    model: replay.model,
    tools: replay.tools,
    builtinTools: false,
    stores,
    knowledge: false,
    compaction: { autoCompactThreshold: THRESHOLD, summarizer: "fallback" },
  });
  const report = await replay.run(service, {
    memory: stores.memory,
    watch: {
      onCompaction: (seen) => showCompaction(seen, THRESHOLD, stage),
      onTurn: async (session) => {
        showTurn(session, THRESHOLD, stage);
        await stage.pause(40);
      },
    },
  });
  const { compactions, discarded_messages, indexed_messages } = report;
  stage.say();
  stage.say(
    `${compactions.length} compactions: ${thousands(report.tokens_before)} tokens were said, ${thousands(report.tokens_after)} are in the window now.`,
  );
  stage.say(
    `${discarded_messages} messages left it. Memory has all ${indexed_messages} messages that have text.`,
  );
  stage.say();
  return report;
}

/** Says which answers the window has, and asks memory for the others. Returns whether there were both kinds, and all were found. */
async function ask(sessionId: string): Promise<boolean> {
  const service = createSessionService({ model: "none", stores, knowledge: false });
  const { history } = await service.read({ sessionId });
  await service.close();
  const window = JSON.stringify(history);
  const [kept, left] = partition(questions(), ({ evidence }) =>
    window.includes(JSON.stringify(evidence).slice(1, -1)),
  );
  stage.say(style.bold("2. What a person typed stays, word for word"));
  stage.say(
    `The ${history.length} messages that the model would be sent next answer these themselves:`,
  );
  stage.say();
  for (const { question, evidence } of kept) {
    stage.say(question);
    stage.say(`${style.green("✓")} in the window: “${evidence}”`);
  }
  stage.say();
  stage.say(style.bold(`3. ${left.length} questions about what is no longer in the window`));
  stage.say("Checked: the words that answer them are in none of those messages, the summary");
  stage.say("included. So memory is asked:");
  stage.say();
  let found = kept.length > 0 && left.length > 0;
  for (const question of left) {
    found = (await askMemory(question, stores.memory, stage)) && found;
    await stage.pause(80);
  }
  return found;
}

function partition<Item>(
  items: readonly Item[],
  test: (item: Item) => boolean,
): readonly [readonly Item[], readonly Item[]] {
  return [items.filter(test), items.filter((item) => !test(item))];
}

function questions(): readonly Question[] {
  return JSON.parse(readFileSync(new URL("questions.json", import.meta.url), "utf8"));
}

function sayWhatNext(): void {
  stage.say(style.bold("4. What to try next"));
  const commands = [
    [
      `npx rkat memory search "why not raise the statement timeout" --dir ${folder}`,
      "ask it yourself",
    ],
    [`npx rkat sessions show last --dir ${folder}`, "what is in the window, and the summary"],
    [`npx rkat inspect last --dir ${folder}`, "all of it in the browser"],
    ["npx rkat replay FILE --compact-threshold 4000", "a conversation of your own, as JSON Lines"],
    ["README.md", "an agent of your own in 15 lines"],
  ] as const;
  for (const [command, why] of commands)
    stage.say(`  ${style.cyan(command)}\n      ${style.dim(why)}`);
  stage.say();
  stage.say(
    `The store is ${join(folder, ".rkat", "rkat.db")}; delete ${folder} when you are done.`,
  );
}

/** A folder that each run empties first, and that git ignores. */
function emptyFolder(name: string): string {
  rmSync(name, { recursive: true, force: true });
  mkdirSync(name);
  writeFileSync(join(name, ".gitignore"), "*\n");
  return name;
}
