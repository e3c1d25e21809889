import fc from "fast-check";
import { expect, test } from "vitest";
import { contentText, type Message } from "../src/core/message.ts";
import { estimateTokens } from "../src/core/tokens.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { trials } from "./support/trials.ts";

const WINDOW = 8_000;
/** A session of so many windows keeps all that a person typed in passing. */
const WINDOWS = 3;
const SHORT_CHARACTERS = 120;

const WORDS =
  "harbour lantern cargo ledger crane anchor sailor market winter garden copper violin bridge kettle meadow thunder basket compass orchard saddle".split(
    " ",
  );

const words = (minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom(...WORDS), { minLength, maxLength }).map((some) => some.join(" "));

/** What a person types: in passing, at length, or pasted. */
const typed = fc.oneof(
  { weight: 6, arbitrary: words(3, 14).map((text) => text.slice(0, SHORT_CHARACTERS - 10)) },
  { weight: 2, arbitrary: words(30, 60) },
  { weight: 1, arbitrary: words(100, 300) },
);

/** A turn, and the length of its answer. */
const turn = fc.record({ typed, answer: words(60, 300) });

function wordsIn(messages: readonly Message[]): string {
  return messages
    .map((message) => (message.role === "user" ? contentText(message.content) : ""))
    .join("\n");
}

test("in a session of three windows, all that a person typed in at most 120 characters is in the request word for word", async () => {
  const anyTalk = fc.array(turn, { minLength: 120, maxLength: 120 });
  await fc.assert(
    fc.asyncProperty(anyTalk, async (talk) => {
      const stores = sqliteStores({ path: ":memory:" });
      let next = "";
      const model = scriptedModel(() => next, { contextWindow: WINDOW });
      const service = createSessionService({
        model,
        stores,
        knowledge: false,
        recallTokens: 0,
        compaction: {
          summarizer: scriptedModel(() => "They spoke of the harbour, its cargo and the market."),
        },
      });
      const { sessionId } = await service.createSession({});
      const short: string[] = [];
      let tokens = 0;
      for (const [at, { typed, answer }] of talk.entries()) {
        if (tokens > WINDOWS * WINDOW) break;
        const prompt = `${at}: ${typed}`;
        next = answer;
        await service.startTurn({ sessionId, prompt });
        if (prompt.length <= SHORT_CHARACTERS) short.push(prompt);
        tokens += estimateTokens([{ role: "user", content: prompt + answer }]);
      }
      expect(tokens).toBeGreaterThan(WINDOWS * WINDOW);
      const sent = wordsIn(model.requests.at(-1)?.messages ?? []);
      const missing = short.filter((text) => !sent.includes(text));
      await service.close();
      await stores.close();
      expect(missing).toEqual([]);
    }),
    { numRuns: trials(1, 60) },
  );
});
