import { rkatPrepareStep } from "../../src/ai-sdk.ts";
import { createHistoryWindow } from "../../src/index.ts";
import type { MessageView } from "../../src/window/message-view.ts";

/**
 * What one more message costs a window, in a short and in a long history, and what a step of the AI SDK costs
 * besides its model.
 *
 *     node bench/studies/window-growth.ts
 *
 * Nothing is compacted. Messages have a kilobyte. The two sizes take turns; each figure is a median.
 */

const SHORT = 100;
const LONG = 10_000;
const ROUNDS = 500;

interface Note {
  readonly role: "user" | "assistant";
  readonly content: string;
}

const view: MessageView<Note> = {
  read: (message) => ({ message }),
  summary: (content) => ({ role: "user", content }),
  shorten: (message) => message,
};

const note = (index: number): Note => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: `line ${index}: harbour, ship and cargo. `.repeat(30),
});

const history = (length: number) => Array.from({ length }, (_, index) => note(index));

const options = { contextWindow: 1_000_000_000, summarize: "fallback" } as const;

async function growing(length: number) {
  const window = createHistoryWindow<Note>({ view, ...options });
  const messages = history(length);
  await window.apply(messages);
  return async (index: number) => {
    messages.push(note(index));
    await window.apply(messages);
  };
}

async function stepping(length: number) {
  const prepareStep = rkatPrepareStep(options);
  const messages = history(length);
  const step = () => prepareStep({ messages, initialMessages: messages, steps: [], model: "none" });
  await step();
  return async (index: number) => {
    messages.push(note(index));
    await step();
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

const median = (times: number[]) => times.sort((a, b) => a - b)[times.length >> 1] ?? 0;

const [short, long, step] = await Promise.all([growing(SHORT), growing(LONG), stepping(1_000)]);
const times = { short: [] as number[], long: [] as number[], step: [] as number[] };
for (let index = 0; index < ROUNDS; index += 1) {
  times.short.push(await timed(() => short(index)));
  times.long.push(await timed(() => long(index)));
  times.step.push(await timed(() => step(index)));
}
const ratio = median(times.long) / median(times.short);
console.log(`one more message in ${LONG}, compared with ${SHORT}: ${ratio.toFixed(2)} x`);
console.log(`a step of the AI SDK with 1000 messages: ${median(times.step).toFixed(3)} ms`);
