// How well does the score of a summary tell good ones from worthless ones?
//
// Pieces of recorded conversations are what leaves, a few messages after each are
// what stays. Good summaries: those written by hand for the demo, in four languages;
// notes made of the questions that people asked about the piece, which are in their
// own words; the fallback summary; and the first sentence of each fourth message.
// Spoiled ones: the prompt, refusals and requests for the conversation in many
// languages, a phrase of the piece again and again, a text without words, talk that
// suits every conversation, and good summaries of other conversations.
//
//   node bench/studies/summary-score.ts [--data FOLDER] [--per-set 8] [--size 60]
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { scoreSummary } from "../../src/compaction/score-summary.ts";
import { smartFallbackSummary } from "../../src/compaction/smart-fallback-summary.ts";
import { COMPACTION_PROMPT } from "../../src/compaction/summary-request.ts";
import { indexableText, type Message } from "../../src/core/message.ts";
import { readTranscript } from "../../src/transcripts/read-transcript.ts";

const { values } = parseArgs({
  options: {
    data: { type: "string" },
    "per-set": { type: "string", default: "8" },
    size: { type: "string", default: "60" },
  },
});
const SIZE = Number(values.size);
const STAYS = 8;

interface Piece {
  readonly conversation: string;
  readonly discarded: readonly Message[];
  readonly retained: readonly Message[];
  readonly good: Readonly<Record<string, string>>;
}

/** Of the first messages of the demo, as a model might write them. */
const BY_HAND = {
  "by hand, English":
    "Goal: find out why 48,216 tracking events went missing since Thursday 26 February and stop the loss. Cause: commit c41d7e0 (TDM-1187) wrapped tracking_no in lower(), so the unique index on parcels is no longer used, lookupParcels runs into the statement timeout (57014), and flushBatch in src/consumer/eventConsumer.ts acknowledges in finally all the same. Halden lost 43,871, Norvia 3,902, Kumo 443. Plan: stop the loss today, index second, backfill third; no blame in notes. The missing ids are in data/incident-0226/missing_receipts.csv; the archive keeps payloads for 17 days. Failed messages go to tidemark.retry.30s with an x-attempt header, after five attempts to tidemark.dead. Next: make eventConsumer compile with a ConfirmChannel.",
  "by hand, English, brief":
    "Debugging lost parcel events: ack in finally plus slow lookup after lower(). Consumer is being rewritten to ack after commit and to retry through tidemark.retry.30s.",
  "by hand, German":
    "Ziel: herausfinden, warum seit dem 26. Februar 48.216 Ereignisse fehlen. Ursache: Commit c41d7e0 (TDM-1187) hat tracking_no in lower() gepackt; der eindeutige Index wird nicht mehr benutzt, lookupParcels läuft in das Zeitlimit (57014), und flushBatch in src/consumer/eventConsumer.ts bestätigt trotzdem. Reihenfolge: Verlust stoppen, dann Index, dann Nachholen. Die fehlenden Kennungen stehen in data/incident-0226/missing_receipts.csv. Fehlgeschlagene Nachrichten gehen nach tidemark.retry.30s mit x-attempt, nach fünf Versuchen nach tidemark.dead.",
  "by hand, Russian":
    "Цель: выяснить, почему с 26 февраля пропали события. Причина: коммит c41d7e0 (TDM-1187) обернул tracking_no в lower(), индекс больше не используется, lookupParcels упирается в таймаут (57014), а flushBatch в src/consumer/eventConsumer.ts всё равно подтверждает сообщения. План: остановить потерю, затем индекс, затем дозагрузка. Пропавшие записи лежат в data/incident-0226/missing_receipts.csv, повторы идут через tidemark.retry.30s и tidemark.dead с заголовком x-attempt.",
};

const SPOILED: Readonly<Record<string, (piece: Piece, other: Piece) => string>> = {
  "the prompt": () => COMPACTION_PROMPT,
  "part of the prompt": () => COMPACTION_PROMPT.slice(0, 240),
  "no words": () => "...",
  "one word": () => "Done.",
  ...Object.fromEntries(
    [
      "I'm sorry, but I can't help with that request.",
      "I cannot summarize this conversation because it may contain sensitive information.",
      "As an AI language model, I do not have access to earlier messages.",
      "Please provide the conversation that you would like me to summarise.",
      "It looks like you haven't shared a conversation yet. Could you paste it here?",
      "Es tut mir leid, aber dabei kann ich nicht helfen.",
      "Bitte stellen Sie mir das Gespräch zur Verfügung, das ich zusammenfassen soll.",
      "Je suis désolé, mais je ne peux pas répondre à cette demande.",
      "Lo siento, no puedo ayudarte con esa petición.",
      "К сожалению, я не могу выполнить этот запрос.",
      "抱歉,我无法完成这个请求。",
      "申し訳ありませんが、そのリクエストにはお応えできません。",
    ].map((text) => [`refusal: ${text.slice(0, 24)}`, () => text]),
  ),
  "a phrase again and again": ({ discarded }) =>
    `${indexableText(discarded.find((message) => indexableText(message) !== "") as Message).slice(0, 60)} `.repeat(
      30,
    ),
  "talk that suits all": () =>
    "The user and the assistant had a productive conversation in which several important topics were discussed. Progress was made, decisions were taken, and a number of next steps were identified that should be followed up in due course.",
  "about something else": () =>
    "The Amazon rainforest is home to ten per cent of the known species. Its rivers carry more water than any other basin, and its canopy keeps moisture in a cycle that reaches far beyond the continent.",
  "another's notes": (_, other) => other.good.notes ?? other.good["first sentences"] ?? "",
  "another's fallback": (_, other) => other.good.fallback ?? "",
};

const pieces = [...(await demoPieces()), ...(values.data ? recordedPieces(values.data) : [])];
const good = pieces.flatMap((piece) =>
  Object.entries(piece.good).map(([kind, text]) => ({ kind, ...judge(text, piece) })),
);
const spoiled = pieces.flatMap((piece, index) => {
  const other = pieces[(index + 3) % pieces.length] as Piece;
  if (other.conversation === piece.conversation) return [];
  return Object.entries(SPOILED).map(([kind, make]) => ({
    kind: kind.startsWith("refusal") ? "refusals" : kind,
    ...judge(make(piece, other), piece),
  }));
});

console.log(
  `${pieces.length} pieces of ${new Set(pieces.map((piece) => piece.conversation)).size} conversations\n`,
);
console.log(
  "| summary | of them | score, median | lowest | highest | refused |\n|---|---|---|---|---|---|",
);
for (const [name, all] of [
  ["good", good],
  ["spoiled", spoiled],
] as const) {
  for (const [kind, some] of Map.groupBy(all, (each) => each.kind)) row(`${name}: ${kind}`, some);
  row(`**all ${name}**`, all);
}
console.log(`\narea under the curve: ${areaUnderCurve().toFixed(4)}`);
const plain = spoiled.filter(
  ({ kind }) =>
    kind.startsWith("another") || kind === "talk that suits all" || kind === "about something else",
);
console.log(
  `area under the curve, of texts that only their subject gives away: ${areaUnderCurve(plain).toFixed(4)}`,
);

function judge(text: string, piece: Piece) {
  const { score, problem } = scoreSummary(text, piece, COMPACTION_PROMPT);
  return { score, refused: problem !== undefined };
}

function row(name: string, some: readonly { score: number; refused: boolean }[]): void {
  const scores = some.map(({ score }) => score).sort((a, b) => a - b);
  const refused = some.filter((each) => each.refused).length / some.length;
  const cells = [
    name,
    some.length,
    scores[Math.floor(scores.length / 2)]?.toFixed(2),
    scores[0]?.toFixed(2),
    scores.at(-1)?.toFixed(2),
    `${(refused * 100).toFixed(1)} %`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

/** How often a good summary has the higher score of a good and a spoiled one; a tie is half. */
function areaUnderCurve(bad: readonly { score: number }[] = spoiled): number {
  let wins = 0;
  for (const one of good) {
    for (const other of bad)
      wins += one.score > other.score ? 1 : one.score === other.score ? 0.5 : 0;
  }
  return wins / (good.length * bad.length);
}

async function demoPieces(): Promise<Piece[]> {
  const file = new URL("../../demo/conversation.jsonl", import.meta.url);
  const recording = await readTranscript([readFileSync(file)], "demo");
  const messages = recording.messages.map(({ message }) => message);
  return slices("demo", messages.slice(0, 46 + STAYS), 46, () => BY_HAND).concat(
    slices("demo", messages.slice(60), SIZE, () => ({})),
  );
}

interface Line {
  readonly id: string;
  readonly conv: string;
  readonly speaker: string;
  readonly text: string;
  readonly relevant: readonly string[];
}

function recordedPieces(data: string): Piece[] {
  return ["locomo", "realtalk", "beam128k"].flatMap((set) => {
    const docs = join(data, set, "docs.jsonl");
    if (!existsSync(docs)) return [];
    const questions = readLines(join(data, set, "queries.jsonl"));
    const conversations = [...Map.groupBy(readLines(docs), ({ conv }) => conv)];
    return conversations.slice(0, Number(values["per-set"])).flatMap(([name, lines]) => {
      const first = lines[0]?.speaker;
      const messages = lines.map(
        ({ speaker, text }): Message => ({
          role: speaker === first ? "user" : "assistant",
          content: text,
        }),
      );
      return slices(name, messages, SIZE, (from, to) => {
        const ids = new Set(lines.slice(from, to).map(({ id }) => id));
        const asked = questions.filter(
          ({ relevant }) => relevant?.length > 0 && relevant.every((id) => ids.has(id)),
        );
        return asked.length < 4 ? {} : { notes: asked.map(({ text }) => text).join(" ") };
      }).slice(0, 4);
    });
  });
}

function readLines(file: string): Line[] {
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function slices(
  conversation: string,
  messages: readonly Message[],
  size: number,
  more: (from: number, to: number) => Readonly<Record<string, string>>,
): Piece[] {
  const starts = Array.from(
    { length: Math.floor((messages.length - STAYS) / size) },
    (_, at) => at * size,
  );
  return starts.map((from) => {
    const discarded = messages.slice(from, from + size);
    const sentences = discarded
      .map((message) => indexableText(message).split(/(?<=[.!?])\s/)[0] ?? "")
      .filter((_, index) => index % 4 === 0);
    return {
      conversation,
      discarded,
      retained: messages.slice(from + size, from + size + STAYS),
      good: {
        ...more(from, from + size),
        fallback: smartFallbackSummary(discarded, 4096),
        "first sentences": sentences.join(" "),
      },
    };
  });
}
