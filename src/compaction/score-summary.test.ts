import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Message } from "../core/message.ts";
import { renderTranscript } from "./render-transcript.ts";
import { scoreSummary } from "./score-summary.ts";
import { smartFallbackSummary } from "./smart-fallback-summary.ts";
import { COMPACTION_PROMPT, requestText, summaryRequest } from "./summary-request.ts";

const TALK: readonly [string, string][] = [
  [
    "The nightly import into the warehouse fails since Tuesday, can you look?",
    "The job import_orders dies in src/jobs/importOrders.ts with error 57014, a statement timeout.",
  ],
  [
    "Why would it time out? The table has an index on order_no.",
    "Commit 3fa91c2 wraps order_no in lower(), so the planner scans 17 million rows.",
  ],
  [
    "Then add an expression index, but not during business hours.",
    "I wrote migrations/0042_order_no_lower.sql; it builds the index concurrently.",
  ],
  [
    "Marta wants to know which customers were affected.",
    "412 orders of Northwind and 38 of Contoso are missing; the list is in data/missing.csv.",
  ],
  [
    "Never write to the production database yourself, send me the statements.",
    "Understood. The statements are in ops/backfill.sql, for you to run on the primary.",
  ],
];

const messages: readonly Message[] = TALK.flatMap(([asked, answered]) => [
  { role: "user" as const, content: asked },
  { role: "assistant" as const, content: answered },
]);
const source = { discarded: messages, retained: [] };

const GOOD: Record<string, string> = {
  English:
    "The nightly import fails with a timeout (57014) in src/jobs/importOrders.ts because commit 3fa91c2 put lower() around order_no. An index migration is written (migrations/0042_order_no_lower.sql), to be built outside business hours. Marta asked for the affected customers: Northwind and Contoso, in data/missing.csv. Never write to production; ops/backfill.sql is for the user to run.",
  German:
    "Der nächtliche Import scheitert mit 57014 in src/jobs/importOrders.ts, weil 3fa91c2 order_no in lower() packt. Die Migration migrations/0042_order_no_lower.sql ist geschrieben. Betroffen: Northwind und Contoso (data/missing.csv). ops/backfill.sql führt der Nutzer selbst aus.",
  Chinese:
    "夜间导入因提交 3fa91c2 在 src/jobs/importOrders.ts 中超时(57014)。迁移 migrations/0042_order_no_lower.sql 已写好。受影响客户:Northwind、Contoso,见 data/missing.csv。ops/backfill.sql 由用户执行。",
  brief:
    "Import times out since lower(order_no); index migration 0042 written, Northwind and Contoso lost orders.",
};

const REQUEST = summaryRequest({
  discarded: messages,
  prompt: COMPACTION_PROMPT,
  tokensMax: 20_000,
});

const WORTHLESS: Record<string, readonly string[]> = {
  echo: [
    requestText(REQUEST),
    requestText(REQUEST.slice(0, 1)),
    requestText(REQUEST).slice(0, 900),
    renderTranscript(messages, 2000),
    `Here is the record.\n${renderTranscript(messages, 2000)}`,
    TALK.map(([asked, answered]) => `User: ${asked}\nAssistant: ${answered}`).join("\n\n"),
    TALK.flat().join("\n"),
    TALK.flat().slice(2, 7).join(" "),
    COMPACTION_PROMPT,
    COMPACTION_PROMPT.slice(0, 200),
    `Sure! ${COMPACTION_PROMPT}`,
  ],
  refusal: [
    "I'm sorry, but I can't assist with that.",
    "I cannot summarize this conversation.",
    "I am unable to help with this request.",
    "As an AI language model, I don't have access to previous conversations.",
    "Please provide the conversation.",
    "Could you please share the text that you want me to summarize?",
    "It seems you have not provided any messages.",
    "Es tut mir leid, dabei kann ich nicht helfen.",
    "Bitte geben Sie mir das Gespräch.",
    "Je suis désolé, je ne peux pas vous aider.",
    "Lo siento, pero no puedo ayudar con eso.",
    "Mi dispiace, non posso aiutarti.",
    "Desculpe, não posso ajudar com isso.",
    "Het spijt me, ik kan u niet helpen.",
    "Извините, я не могу помочь с этим.",
    "对不起,我无法帮助您。",
    "請提供對話內容。",
    "申し訳ありませんが、お手伝いできません。",
    "죄송하지만 도와드릴 수 없습니다.",
    "عذراً، لا أستطيع المساعدة في ذلك.",
    "Üzgünüm, yardımcı olamam.",
    "Przepraszam, nie mogę pomóc.",
    "I must decline to summarise this conversation.",
    "Sure! As requested, I will now continue with the task.",
    "As requested I will now continue the work on the import.",
    "Understood. I'll continue.",
    "Okay, let me proceed with the next step.",
    "I respectfully decline.",
    "I’m not comfortable with that.",
    "This request violates my guidelines.",
    "Ich muss diese Anfrage ablehnen.",
    "Wie gewünscht fahre ich nun fort.",
    "Je dois décliner cette demande.",
    "Comme demandé, je vais maintenant continuer.",
    "Debo declinar esta solicitud.",
    "Como solicitaste, ahora continuaré con el trabajo.",
    "Devo declinare la richiesta.",
    "Conforme solicitado, vou continuar agora.",
    "Ik moet dit verzoek weigeren.",
    "Я вынужден отказаться от этого.",
    "我必须拒绝这个请求。",
    "根据您的要求,我现在将继续。",
    "好的,我现在继续工作。",
    "好的\uff0c我现在继续工作。",
    "收到\uff01我将继续。",
    "このご依頼にはお応えできません。",
    "ご要望どおり、作業を続けます。",
    "요청하신 대로 계속 진행하겠습니다.",
  ],
  wordless: [".", "…", "--- ***", "?!", "ok"],
  repetition: [
    "The nightly import fails. ".repeat(40),
    "import ".repeat(200),
    "继续工作。".repeat(60),
    "The user asked about the import. The assistant answered. ".repeat(20),
  ],
  unrelated: [
    "The Amazon rainforest holds a tenth of all known species, and its rivers carry more water than any others.",
    "To bake bread, mix flour, yeast and salt, knead for ten minutes and let the dough rise in a warm corner.",
    "Done.",
    "Alles klar, weiter geht es.",
  ],
};

describe("a good summary is distinguished from a worthless one", () => {
  for (const [language, summary] of Object.entries(GOOD)) {
    test(`good: ${language}`, () => {
      expect(scoreSummary(summary, source, COMPACTION_PROMPT)).not.toHaveProperty("problem");
    });
  }

  for (const [problem, texts] of Object.entries(WORTHLESS)) {
    test(`worthless: ${problem}`, () => {
      for (const text of texts) {
        expect({ text, ...scoreSummary(text, source, COMPACTION_PROMPT) }).toMatchObject({
          problem,
        });
      }
    });
  }

  test("the fallback summary is a good one", () => {
    const summary = smartFallbackSummary(messages, 2000);
    expect(scoreSummary(summary, source, COMPACTION_PROMPT).score).toBeGreaterThan(0.5);
  });

  test("a summary that begins like a refusal is taken for what it says", () => {
    const begins = [
      "I could not reproduce the timeout yet:",
      "Unfortunately, the import still fails.",
      "I cannot write to production.",
      "As requested, I continue with the backfill.",
      "I will continue with the index.",
      "Understood: no writes to production.",
      "I must decline to touch production, as the user asked.",
      "Leider scheitert der Import noch.",
      "Wie gewünscht, wird der Index gebaut.",
      "Malheureusement, l'import échoue.",
      "No puedo escribir en producción.",
      "好的,我现在继续。",
      "ご要望どおり、続けます。",
    ];
    const facts = Object.values(GOOD).slice(0, 3);
    fc.assert(
      fc.property(fc.constantFrom(...begins), fc.constantFrom(...facts), (start, rest) => {
        const scored = scoreSummary(`${start} ${rest}`, source, COMPACTION_PROMPT);
        expect(scored).not.toHaveProperty("problem");
      }),
    );
  });

  test("sentences that were picked from the record are no echo of it", () => {
    const sentences = TALK.flat();
    fc.assert(
      fc.property(fc.subarray(sentences, { minLength: 3, maxLength: 6 }), (picked) => {
        const at = picked.map((sentence) => sentences.indexOf(sentence));
        fc.pre(at.every((each, index) => index === 0 || each - (at[index - 1] ?? 0) > 1));
        const { problem } = scoreSummary(picked.join(" "), source, COMPACTION_PROMPT);
        expect(problem).toBeUndefined();
      }),
    );
  });

  test("sentences picked from all over are no echo, though the record says everything in the same few words", () => {
    const ships = "Ada Bora Cato Dora Enzo Fina Gero Hela".split(" ");
    const berths = "north south east west outer inner".split(" ");
    const did = "left entered passed missed watched".split(" ");
    let number = 7;
    const oneOf = (items: readonly string[]) => {
      number = (number * 1_103_515_245 + 12_345) % 2 ** 31;
      return items[(number >> 16) % items.length];
    };
    const sentences = Array.from({ length: 400 }, () => {
      return `The ${oneOf(ships)} ${oneOf(did)} the ${oneOf(berths)} berth of ${oneOf(ships)} then.`;
    });
    const discarded = Array.from({ length: 100 }, (_, at): Message => {
      const content = sentences.slice(4 * at, 4 * at + 4).join(" ");
      return { role: at % 2 === 0 ? "user" : "assistant", content };
    });
    const picked = sentences.filter((_, at) => at % 17 === 0);
    const { problem } = scoreSummary(picked.join(" "), { discarded, retained: [] }, "");
    expect(problem).toBeUndefined();
    const copied = sentences.slice(100, 120).join(" ");
    expect(scoreSummary(copied, { discarded, retained: [] }, "").problem).toBe("echo");
  });

  test("a long quotation of one message is no echo", () => {
    const spec = TALK.flat().join(" ");
    const quoted = {
      discarded: [{ role: "user" as const, content: spec }, ...messages.slice(0, 1)],
      retained: [],
    };
    expect(scoreSummary(`The user asked: "${spec}"`, quoted, COMPACTION_PROMPT)).not.toHaveProperty(
      "problem",
    );
  });

  test("the summary need not repeat messages that stay", () => {
    const short = "The nightly import into the warehouse fails with error 57014.";
    const alone = scoreSummary(short, source, COMPACTION_PROMPT).score;
    const stays = { discarded: messages, retained: messages.slice(2) };
    expect(scoreSummary(short, stays, COMPACTION_PROMPT).score).toBeGreaterThan(alone);
  });

  test("for a conversation with almost no content, any words will do", () => {
    const little = {
      discarded: [{ role: "user" as const, content: "go on ".repeat(500) }],
      retained: [],
    };
    expect(scoreSummary("Work goes on.", little, COMPACTION_PROMPT)).toEqual({ score: 1 });
    expect(scoreSummary(".", little, COMPACTION_PROMPT)).toMatchObject({ problem: "wordless" });
  });

  test("the score is between 0 and 1, and the same for the same text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), (text) => {
        const first = scoreSummary(text, source, COMPACTION_PROMPT);
        expect(first.score).toBeGreaterThanOrEqual(0);
        expect(first.score).toBeLessThanOrEqual(1);
        expect(scoreSummary(text, source, COMPACTION_PROMPT)).toEqual(first);
      }),
    );
  });

  test("any phrase again and again is a repetition, whatever the conversation", () => {
    const words = TALK.flat().join(" ").split(" ");
    fc.assert(
      fc.property(
        fc.nat(words.length - 6),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 15, max: 60 }),
        (from, length, times) => {
          const phrase = words.slice(from, from + length).join(" ");
          expect(scoreSummary(`${phrase} `.repeat(times), source, COMPACTION_PROMPT)).toMatchObject(
            { score: 0 },
          );
        },
      ),
    );
  });
});
