import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { contentText, type Message } from "../src/core/message.ts";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";
import { sampled } from "./support/trials.ts";

/** Standing instructions in people's own words. No list of phrases finds all of these. */
const WISHES = [
  "Keep answers under five lines, I read this on my phone.",
  "My budget is 900 euros, do not exceed it.",
  "Ask me before you install anything.",
  "Keep the public API unchanged.",
  "We only have the old laptop, so nothing that needs a GPU.",
  "Metric units please, my father cannot read inches.",
  "The clinic is closed on Wednesdays, plan around that.",
  "Name every branch after its ticket.",
  "I am on a train until six, so no video links.",
  "Whoever reads this has never seen SQL.",
  "Leave the comments in the Makefile alone, Jo wrote them.",
  "Quote the paragraph numbers when you cite the contract.",
  "Two sentences per slide, that is our house style.",
  "Our server has 2 GB of memory and will not get more.",
  "Gluten is out, whatever the recipe says.",
  "Call me Sam in the letters, not Samantha.",
  "Nobody outside the team may see the salaries.",
  "The demo must work without an account.",
  "Check each figure against the annual report.",
  "Green is taken by our competitor, so avoid it.",
  "You can edit src, but generated files are off limits.",
  "If you are unsure, say so instead of guessing.",
  "Everything has to be printable in black and white.",
  "The old customer numbers begin with K and stay as they are.",
  "Bitte antworte mir immer auf Deutsch und duze mich.",
  "Ich vertrage keine Laktose, denk beim Kochen daran.",
  "Der Ordner Archiv bleibt, wie er ist.",
  "Ne touche pas aux fichiers du dossier legacy.",
  "Je préfère des exemples courts, sans bibliothèque externe.",
  "Todas las fechas van con el día primero.",
  "No le escribas a mi jefe sin avisarme antes.",
  "Le riunioni solo di pomeriggio, la mattina lavoro in officina.",
  "Wszystkie ceny podawaj w złotych.",
  "Hou het bij de standaardbibliotheek.",
  "回答は敬語でお願いします。",
  "所有日志都要保留三十天。",
] as const;

const COMPACTIONS = 12;
const TOPICS = ["tide", "ferry", "pier", "lantern", "ledger", "winch", "sail", "crane"];

function topic(number: number): string {
  return TOPICS[number % TOPICS.length] ?? "";
}

/** What else is asked: done with its answer. */
function request(turn: number): string {
  return `Can you compare the ${topic(turn)} and the ${topic(turn * 5 + 3)} of week ${turn} for the report?`;
}

function answer(turn: number): string {
  const points = Array.from({ length: 20 }, (_, point) => {
    return `Point ${point} of ${turn}: the ${topic(turn + point)} was next to the ${topic(turn * 3 + point)} at ${(turn * 7 + point) % 24} hours.`;
  });
  return points.join(" ");
}

const WAYS = [
  ["alone", (wish: string | undefined, turn: number) => wish ?? request(turn)],
  [
    "with a request",
    (wish: string | undefined, turn: number) => [wish, request(turn)].filter(Boolean).join(" "),
  ],
] as const;

test.each(sampled(WAYS, { of: 2, at: 1 }, "cases"))(
  "36 natural wishes, each said once %s, are in the request word for word after twelve compactions",
  async (_, said) => {
    const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
    let turn = 0;
    const model = scriptedModel(() => answer(turn));
    const service = createSessionService({
      model,
      stores,
      knowledge: false,
      recallTokens: 0,
      compaction: {
        autoCompactThreshold: 6_400,
        minTurnsBetweenCompactions: 1,
        summarizer: scriptedModel(({ messages }) => firstSentences(messages)),
      },
    });
    onTestFinished(async () => {
      await service.close();
      await stores.close();
    });
    const { sessionId } = await service.createSession({});
    let compactions = 0;
    for (; compactions < COMPACTIONS || turn < WISHES.length; turn += 1) {
      await service.startTurn(
        { sessionId, prompt: said(WISHES[turn], turn) },
        {
          onEvent: ({ payload }) => {
            if (payload.type === "compaction_completed") compactions += 1;
          },
        },
      );
    }
    const sent = (model.requests.at(-1)?.messages ?? []).map(textOf).join("\n");
    expect(WISHES.filter((wish) => !sent.includes(wish))).toEqual([]);
  },
);

function textOf(message: Message): string {
  return message.role === "user" ? contentText(message.content) : "";
}

/** A summary of sentences from all over what it is given. */
function firstSentences(messages: readonly Message[]): string {
  const sentences =
    messages
      .map(textOf)
      .join(" ")
      .match(/Point \d+ of \d+:[^.]+\./g) ?? [];
  const step = Math.max(1, Math.floor(sentences.length / 24));
  return sentences
    .filter((_, index) => index % step === 0)
    .slice(0, 24)
    .join(" ");
}
