import { describe, test } from "vitest";
import { messageView } from "../../test/support/message-view.ts";
import { rememberedLoop } from "../../test/support/remembered-loop.ts";
import type { Message } from "../core/message.ts";
import { type AdaptedLoop, adapterLaws } from "../testing/adapter-laws.ts";
import { createHistoryWindow } from "./create-history-window.ts";

/** The way a loop takes a window's result. */
const LOOPS = {
  "takes over what was sent": { adopts: true, copies: false },
  "takes over copies of what was sent": { adopts: true, copies: true },
  "offers its whole history again": { adopts: false, copies: false },
  "makes new objects for each request": { adopts: false, copies: true },
};

function loopThat({ adopts, copies }: { adopts: boolean; copies: boolean }): AdaptedLoop {
  return {
    async run({ instructions, turns, contextWindow, summaries }) {
      const requests: Message[][] = [];
      let paid = 0;
      const window = createHistoryWindow<Message>({
        view: messageView,
        contextWindow,
        summarize: async () => {
          paid += 1;
          if (summaries === "failing") throw new Error("no quota");
          return `Tasks at the harbour were done: cargo, crane and ledger. Part ${paid}.`;
        },
      });
      let stored: Message[] = [{ role: "system", content: instructions }];
      const answers: string[] = [];
      for (const { prompt, steps, answer } of turns) {
        stored.push({ role: "user", content: prompt });
        let history = [...stored];
        const call = async (...next: Message[]) => {
          const { messages } = await window.apply(copies ? structuredClone(history) : history);
          requests.push([...messages]);
          history = [...(adopts ? messages : history), ...next];
          stored = [...stored, ...next];
        };
        for (const { text, calls } of steps) {
          const tool_calls = calls.map(({ id, path }) => ({ id, name: "read", args: { path } }));
          const results = calls.map(({ id, output }) => {
            return { tool_use_id: id, content: output, is_error: false };
          });
          await call(
            { role: "assistant", content: text, tool_calls },
            { role: "tool_results", results },
          );
        }
        await call({ role: "assistant", content: answer });
        answers.push(answer);
      }
      return { requests, summaries: paid, answers };
    },
  };
}

describe.each(Object.entries(LOOPS))("in a loop that %s", (_, how) => {
  const loop = rememberedLoop(loopThat(how));
  for (const law of adapterLaws) test(law.name, () => law.holds(async () => loop));
});
