import assert from "node:assert/strict";
import {
  contentText,
  isSummary,
  type Message,
  SUMMARY_PREFIX,
  toolResults,
  toolUses,
} from "../core/message.ts";
import { estimateTokens } from "../core/tokens.ts";
import { expects, type Law, lawsOf, RandomWords } from "./law.ts";

/** The part of a `HistoryWindow` that the laws use. */
export interface WindowInUse {
  apply(
    history: readonly object[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<{ readonly messages: readonly object[]; readonly outcome: string }>;
  close(): Promise<void>;
}

/** A window over the messages of a host. */
export interface TestedWindow {
  readonly window: WindowInUse;
  /** The host's messages that say this. */
  write(message: Message): readonly object[];
  /** The message that the window's view reads in a message of the host. */
  read(message: object): Message | undefined;
  /** The texts that a search of memory and of logs finds, for a window with stores. */
  search?(query: string): Promise<readonly string[]>;
  /** Whether records of memory come back by themselves. */
  readonly recalls?: boolean;
}

/** The options that a window is made with. */
export interface WindowSetup {
  readonly contextWindow: number;
  readonly summaryTimeoutMs: number;
  summarize(request: { readonly messages: readonly Message[] }): Promise<string>;
}

/** Makes windows that nothing was given to. */
export interface WindowMaker {
  open(setup: WindowSetup): Promise<TestedWindow>;
}

/**
 * The promises of every window, over random histories that grow. Give them a function that makes windows
 * with your view:
 *
 *     for (const law of windowLaws) test(law.name, () => law.holds(async () => myWindows));
 */
export const windowLaws: readonly Law<WindowMaker>[] = lawsOf({
  "the messages that stay are the host's own objects, in their order": (windows) =>
    inEveryRun(windows, {}, ({ offered, sent, written }) => {
      const places = sent.map((each) => offered.indexOf(each)).filter((place) => place >= 0);
      assert.deepEqual(
        places,
        places.toSorted((one, other) => one - other),
      );
      for (const message of sent) {
        if (offered.includes(message)) continue;
        const said = written.read(message);
        const isNew =
          said &&
          (isSummaryText(said) || toolResults(said).length > 0 || textOf(said).startsWith(RECORDS));
        expects(isNew, "a summary, shortened tool output or records of memory", said);
      }
    }),
  "no tool call is sent without its result, and no result without its call": (windows) =>
    inEveryRun(windows, {}, ({ said }) => {
      const calls = said.flatMap(toolUses).map(({ id }) => id);
      const results = said.flatMap(toolResults).map(({ tool_use_id }) => tool_use_id);
      assert.deepEqual(results.toSorted(), calls.toSorted());
    }),
  "reasoning stays with the answer or the calls that it led to": (windows) =>
    inEveryRun(windows, {}, ({ said }) => {
      const thoughts = said.flatMap(blocksOf).filter(({ type }) => type === "reasoning");
      const calls = said.flatMap(toolUses);
      assert.deepEqual(
        thoughts.map(({ text }) => text),
        calls.filter(({ id }) => id.startsWith("first")).map(({ id }) => thoughtOf(id)),
      );
    }),
  "the last user message and standing instructions stay word for word": (windows) =>
    inEveryRun(windows, {}, ({ said, prompt }) => {
      const asked = said.filter(isPrompt).map(textOf);
      assert.equal(asked.at(-1), prompt);
      expects(
        asked.some((text) => text.startsWith(INSTRUCTION)),
        `"${INSTRUCTION}"`,
        asked,
      );
    }),
  "each sent history extends the previous one, unless a compaction happened": (windows) =>
    inEveryRun(windows, {}, ({ sent, before, outcome }) => {
      if (outcome === "unchanged") assert.deepEqual(sent.slice(0, before.length), before);
    }),
  "a compaction pays for one summary, however often the host offers the history again": async (
    windows,
  ) => {
    const count = { compactions: 0, paid: 0 };
    await inEveryRun(windows, { again: true }, () => {}, count);
    const { compactions, paid } = count;
    expects(compactions > 3, "several compactions", compactions);
    expects(paid <= compactions, `at most ${compactions} requests for summaries`, paid);
  },
  "a summary never grows over many compactions": (windows) =>
    inEveryRun(windows, { summary: "repeating" }, ({ said }) => {
      for (const summary of said.filter(isSummaryText)) {
        const tokens = estimateTokens([summary]);
        expects(tokens <= CONTEXT_WINDOW / 2, "a summary below half of the window", tokens);
      }
      expects(said.filter(isSummaryText).length <= 1, "one summary at most", said);
    }),
  "a failing summariser leaves the run going": (windows) => goesOn(windows, "failing"),
  "a hanging summariser leaves the run going": (windows) => goesOn(windows, "hanging"),
  "an aborted call changes nothing for the next": async (windows) => {
    const asked = new AbortController();
    let isFirst = true;
    const tested = await windows.open({
      ...SETUP,
      summarize: async () => {
        if (!isFirst) return SUMMARY;
        isFirst = false;
        asked.abort(new Error("stopped by the user"));
        return await new Promise<never>(() => {});
      },
    });
    const history = conversation(7).flatMap((turn) => turn.flatMap(tested.write));
    await assert.rejects(tested.window.apply(history, { signal: asked.signal }), /stopped/);
    const { outcome } = await tested.window.apply(history);
    assert.equal(outcome, "compacted");
    await tested.window.close();
  },
  "calls at the same time are answered one after the other": async (windows) => {
    const tested = await windows.open(SETUP);
    const history = conversation(3).flatMap((turn) => turn.flatMap(tested.write));
    const answers = await Promise.all([1, 2, 3].map(() => tested.window.apply(history)));
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ["compacted", "unchanged", "unchanged"],
    );
    for (const { messages } of answers) assert.deepEqual(messages, answers[0]?.messages);
    await tested.window.close();
  },
  "everything that left is found by a search, tool output that was shortened too": async (
    windows,
  ) => {
    for (const seed of SEEDS) {
      const tested = await windows.open(SETUP);
      if (!tested.search) return;
      let history: object[] = [];
      let sent: readonly object[] = [];
      const all: Message[] = [];
      for (const turn of conversation(seed)) {
        all.push(...turn);
        history = [...history, ...turn.flatMap(tested.write)];
        sent = (await tested.window.apply(history)).messages;
      }
      const inWindow = JSON.stringify(sent.map((message) => tested.read(message)));
      for (const mark of all.flatMap(marksOf)) {
        if (inWindow.includes(mark)) continue;
        const found = await tested.search(mark);
        expects(
          found.some((text) => text.includes(mark)),
          `"${mark}"`,
          found,
        );
      }
      await tested.window.close();
    }
  },
  "what left comes back before its prompt, once and with the same bytes, makes room for other records with the next compaction, and was not said again":
    async (windows) => {
      // One host that takes over what was sent, and one that does not.
      for (const seed of SEEDS.slice(0, 2)) {
        const tested = await windows.open(SETUP);
        if (!tested.recalls) return;
        let offered: readonly object[] = [];
        const send = async (...said: readonly Message[]) => {
          offered = [...offered, ...said.flatMap(tested.write)];
          const { messages, outcome } = await tested.window.apply(offered);
          const texts = messages.map((message) => JSON.stringify(tested.read(message)));
          if (seed % 2 === 0) offered = messages;
          return { texts, outcome, records: texts.filter((text) => text.includes(RECORDS)) };
        };
        const say = async (prompt: string, answer = "Noted.") => {
          const sent = await send({ role: "user", content: prompt });
          offered = [...offered, ...tested.write({ role: "assistant", content: answer })];
          return sent;
        };
        await say("Where do I find it?", SECRET);
        for (const turn of conversation(seed)) await send(...turn);
        const asked = await say(SECRET_QUESTION);
        const shown = asked.texts.filter((text) => text.includes(SECRET));
        expects(shown.length === 1, `"${SECRET}" once`, asked.texts);
        const next = await say("Thanks.");
        if (next.outcome === "unchanged") {
          assert.deepEqual(next.texts.slice(0, asked.texts.length), asked.texts);
        }
        for (const turn of conversation(seed + SEEDS.length)) {
          const { outcome, records } = await send(...turn);
          // It takes all away, and memory is asked again for the last prompt.
          if (outcome === "compacted") expects(records.length <= 1, "one at most", records);
        }
        const found = (await tested.search?.(SECRET)) ?? [];
        expects(found.includes(SECRET), `"${SECRET}"`, found);
        expects(!found.some((text) => text.includes(RECORDS)), "no record", found);
        await tested.window.close();
      }
    },
});

const RECORDS = "[Recalled from memory]";
const SECRET = "The spare key of the boathouse hangs behind the blue oilskin.";
const SECRET_QUESTION = "Where does the spare key of the boathouse hang?";

const CONTEXT_WINDOW = 3_000;
const SEEDS = [1, 2, 3, 4];
const INSTRUCTION = "Never use the network.";
const SUMMARY = "Tasks at the harbour were done with cargo, crane, ledger and lantern.";

const SETUP: WindowSetup = {
  contextWindow: CONTEXT_WINDOW,
  summaryTimeoutMs: 20,
  summarize: async () => SUMMARY,
};

interface Step {
  /** The offered history, and the part that is sent: as the host's messages, and as rkat reads them. */
  readonly offered: readonly object[];
  readonly sent: readonly object[];
  readonly said: readonly Message[];
  /** The messages that the previous call sent. */
  readonly before: readonly object[];
  readonly outcome: string;
  readonly prompt: string;
  readonly written: TestedWindow;
}

interface RunOptions {
  /** `repeating`: it repeats its input, and adds to it. */
  readonly summary?: "failing" | "hanging" | "repeating";
  /** Each history is offered three times. */
  readonly again?: boolean;
}

async function goesOn(windows: WindowMaker, summary: "failing" | "hanging"): Promise<void> {
  await inEveryRun(windows, { summary }, ({ said, prompt }) => {
    assert.equal(said.filter(isPrompt).map(textOf).at(-1), prompt);
    const tokens = estimateTokens(said);
    expects(tokens <= CONTEXT_WINDOW, `at most ${CONTEXT_WINDOW} tokens`, tokens);
  });
}

/** Has random conversations with a window each: of hosts that take over what was sent, and of others. */
async function inEveryRun(
  windows: WindowMaker,
  { summary, again = false }: RunOptions,
  check: (step: Step) => void,
  count = { compactions: 0, paid: 0 },
): Promise<void> {
  const summarize: WindowSetup["summarize"] = async ({ messages }) => {
    count.paid += 1;
    if (summary === "failing") throw new Error("no quota");
    if (summary === "hanging") return await new Promise<never>(() => {});
    if (summary === "repeating") return `${messages.map(textOf).join("\n")}\n${SUMMARY}`;
    return `${SUMMARY} Part ${count.paid}.`;
  };
  for (const seed of SEEDS) {
    const written = await windows.open({ ...SETUP, summarize });
    let offered: readonly object[] = [];
    let before: readonly object[] = [];
    let prompt = "";
    for (const turn of conversation(seed)) {
      for (const [index, message] of turn.entries()) {
        if (message.role === "user") prompt = textOf(message);
        offered = [...offered, ...written.write(message)];
        // A model is called when it is its turn: not between calls and their results.
        if (turn[index + 1] && turn[index + 1]?.role !== "block_assistant") continue;
        for (let time = 0; time < (again ? 3 : 1); time += 1) {
          const { messages: sent, outcome } = await written.window.apply(offered);
          if (outcome === "compacted") count.compactions += 1;
          const said = sent.flatMap((each) => written.read(each) ?? []);
          check({ offered, sent, said, before, outcome, prompt, written });
          before = sent;
        }
        if (seed % 2 === 0) offered = before;
      }
    }
    await written.window.close();
  }
}

/** A conversation that outgrows its window several times, with parallel calls and reasoning. */
function conversation(seed: number): readonly (readonly Message[])[] {
  const random = new RandomWords(seed);
  const below = (count: number) => random.below(count);
  const words = (count: number) => random.words(count);
  return Array.from({ length: 14 }, (_, turn): Message[] => {
    const said = `Task ${turn}: ${words(12)} ${markOf("asked", turn)}?`;
    const rounds = Array.from({ length: below(4) }, (_, round): Message[] => {
      const calls = Array.from({ length: 1 + below(3) }, (_, call) => ({
        id: `${call === 0 ? "first" : "next"}-${turn}-${round}-${call}`,
        name: "read",
        args: { path: `src/${words(1)}.ts` },
      }));
      const thought = { text: thoughtOf(calls[0]?.id ?? "") };
      return [
        {
          role: "block_assistant",
          blocks: [
            { block_type: "reasoning", data: thought },
            ...calls.map((data) => ({ block_type: "tool_use" as const, data })),
          ],
          stop_reason: "tool_use",
        },
        {
          role: "tool_results",
          results: calls.map(({ id }) => ({
            tool_use_id: id,
            content: `${words(10)} ${markOf("output", id)} ${words(30 + below(80))}`,
            is_error: false,
          })),
        },
      ];
    }).flat();
    return [
      { role: "user", content: turn === 0 ? `${INSTRUCTION} ${said}` : said },
      ...rounds,
      {
        role: "block_assistant",
        blocks: [
          {
            block_type: "text",
            data: { text: `Task ${turn} is done: ${words(20)} ${markOf("answered", turn)}.` },
          },
        ],
        stop_reason: "end_turn",
      },
    ];
  });
}

function thoughtOf(id: string): string {
  return `I think about ${id}.`;
}

/** A word that only one message has. */
function markOf(kind: string, of: string | number): string {
  return `${kind}x${String(of).replaceAll(/\W/g, "x")}`;
}

function marksOf(message: Message): readonly string[] {
  return JSON.stringify(message).match(/(asked|output|answered)x\w+/g) ?? [];
}

function blocksOf(message: Message) {
  if (message.role !== "block_assistant") return [];
  return message.blocks.map(({ block_type: type, data }) => ({
    type,
    text: "text" in data ? data.text : "",
  }));
}

function isPrompt(message: Message): boolean {
  return message.role === "user" && !isSummaryText(message);
}

function isSummaryText(message: Message): boolean {
  return isSummary(message) || textOf(message).startsWith(SUMMARY_PREFIX);
}

function textOf(message: Message): string {
  return message.role === "user" ? contentText(message.content) : "";
}
