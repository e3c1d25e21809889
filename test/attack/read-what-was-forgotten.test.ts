import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createSessionService, defineTool, type SessionService } from "../../src/index.ts";
import { type Stores, sqliteStores } from "../../src/sqlite.ts";
import { type ScriptedModel, type ScriptedReply, scriptedModel } from "../../src/testing.ts";
import { filesWithTraces } from "../support/files-with-traces.ts";
import { heldModel } from "../support/held-model.ts";
import { temporaryFolder } from "../support/obey.ts";
import { sampled, trials } from "../support/trials.ts";

const LONG = "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(40);

interface Place {
  readonly folder: string;
  readonly stores: Stores;
  readonly service: SessionService;
  readonly model: ScriptedModel;
}

type Replies = Parameters<typeof scriptedModel>[0];

async function open(replies: Replies, model = scriptedModel(replies)): Promise<Place> {
  const folder = await temporaryFolder();
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  const service = createSessionService({
    model,
    stores,
    compaction: { recentTurnBudget: 1 },
    sessionFiles: join(folder, "sessions"),
    tools: [sendTool],
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { folder, stores, service, model };
}

const sendTool = defineTool({
  name: "send",
  description: "Sends.",
  input: z.object({ to: z.string() }),
  execute: () => "sent",
});

/** Every place where one of the words is: files byte by byte, and each row of each table. */
async function traces(folder: string, words: readonly string[]): Promise<string[]> {
  const found = await filesWithTraces(folder, words);
  const db = new DatabaseSync(join(folder, "rkat.db"), { readOnly: true });
  // The word index has words in small letters.
  const small = words.map((word) => word.toLowerCase());
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  for (const { name } of tables) {
    for (const row of db.prepare(`SELECT * FROM "${name}"`).all()) {
      const text = Object.values(row)
        .map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString() : String(cell)))
        .join(" ");
      for (const word of [...words, ...small]) {
        if (text.includes(word)) found.push(`${name}: ${word}`);
      }
    }
  }
  db.close();
  return found;
}

/** The id of the message that says a text. */
async function idOf(text: string, { stores }: Place): Promise<string> {
  for (const { sessionId, stored } of await stores.events.readAll(0, 10_000)) {
    const { event, seq } = stored;
    if (event.type === "run_started" && event.prompt.includes(text)) return `${sessionId}:${seq}`;
  }
  throw new Error(`Nobody said ${text}.`);
}

const SAID = "My landlord Quillonbrax Vanderhoof charges 732158846 zorkmids.";
const NAMES = ["Quillonbrax", "Vanderhoof", "732158846", "zorkmids"];

test("a summary that told it in other words is written again from what may be told", async () => {
  const place = await open([
    "Noted.",
    "b",
    "c",
    "landlord Quillonbrax Vanderhoof charges 732158846 zorkmids; the lamp on port 4310",
  ]);
  const { service, folder, model } = place;
  const { sessionId } = await service.createSession({});
  for (const prompt of [SAID, `The lamp listens on port 4310. ${LONG}`, "the last one"]) {
    await service.startTurn({ sessionId, prompt });
  }
  expect(await service.compact({ sessionId })).toMatchObject({ compacted: true });
  expect(await traces(folder, NAMES)).not.toEqual([]);

  const receipt = await service.forgetMemory({ ids: [await idOf("landlord", place)] });
  expect(receipt).toMatchObject({ forgotten: 1, remaining: [] });
  expect(receipt.cleaned.map(({ place: where }) => where).sort()).toEqual([
    "file",
    "index",
    "log",
    "memory",
    "message",
    "summary",
    "window",
  ]);
  expect(receipt.notCleaned.map(({ place: where }) => where)).toEqual([
    "open_requests",
    "write_ahead_log",
    "backups",
  ]);
  expect(await traces(folder, NAMES)).toEqual([]);
  expect(await traces(folder, ["port 4310"])).not.toEqual([]);
  await service.startTurn({ sessionId, prompt: "And now?" });
  const asked = JSON.stringify(model.requests.at(-1));
  for (const name of NAMES) expect(asked).not.toContain(name);
  expect(asked).toContain("port 4310");
});

test("the receipt is kept in the log, without the text", async () => {
  const place = await open(["Noted."]);
  const { sessionId } = await place.service.createSession({});
  await place.service.startTurn({ sessionId, prompt: SAID });
  await place.service.forgetMemory({ ids: [await idOf("landlord", place)] });
  const log = await place.stores.events.readAll(0, 100);
  expect(log.at(-1)?.stored.event).toEqual({
    type: "text_forgotten",
    messages: [expect.any(Number)],
    events: [expect.any(Number)],
    cleaned: [
      { place: "log", count: 1 },
      { place: "message", count: 1 },
      { place: "window", count: 1 },
      { place: "memory", count: 1 },
      { place: "index", count: 1 },
    ],
    not_cleaned: ["open_requests", "write_ahead_log", "backups"],
  });
});

test("an answer that repeats a name is listed, and forgotten when it is named too", async () => {
  const place = await open(["Vanderhoof is expensive, then.", "ok"]);
  const { service, folder } = place;
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: SAID });
  await service.startTurn({ sessionId, prompt: "Fix the lamp." });
  const { remaining } = await service.forgetMemory({ ids: [await idOf("landlord", place)] });
  expect(remaining).toHaveLength(1);
  expect(await service.forgetMemory({ ids: [...remaining] })).toMatchObject({ remaining: [] });
  expect(await traces(folder, NAMES)).toEqual([]);
  expect(await traces(folder, ["Fix the lamp"])).not.toEqual([]);
});

test("a session that was never compacted is forgotten as a whole", async () => {
  const place = await open([
    { toolCalls: [{ id: "a", name: "send", args: { to: "Vanderhoof" } }] },
    "Sent to Vanderhoof.",
  ]);
  const { service, folder } = place;
  const { sessionId } = await service.createSession({ systemPrompt: "You are a clerk." });
  await service.updateTask({ sessionId, goal: "Pay 732158846 zorkmids." });
  await service.startTurn({ sessionId, prompt: SAID });
  const other = await service.createSession({});
  await service.startTurn({ ...other, prompt: "Fix the lamp." });
  expect((await service.forgetMemory({ sessionId })).remaining).toEqual([]);
  expect(await traces(folder, NAMES)).toEqual([]);
  expect(await traces(folder, ["Fix the lamp"])).not.toEqual([]);
  expect(await traces(folder, ["You are a clerk"])).not.toEqual([]);
  expect((await service.startTurn({ sessionId, prompt: "go on" })).text).toBe("ok");
});

test("forgetting waits for the turn of a session to end", async () => {
  const first = await open(["Noted."]);
  const { sessionId } = await first.service.createSession({});
  await first.service.startTurn({ sessionId, prompt: SAID });
  const { model, asked, letGo } = heldModel(scriptedModel(["Done."]));
  const { folder, stores } = first;
  const service = createSessionService({ model, stores });
  onTestFinished(() => service.close());
  const turn = service.startTurn({ sessionId, prompt: "Fix the lamp." });
  await asked;
  const forgetting = service.forgetMemory({ ids: [await idOf("landlord", first)] });
  expect(await Promise.race([forgetting, service.read({ sessionId })])).toHaveProperty("isActive");
  letGo();
  expect((await turn).text).toBe("Done.");
  await forgetting;
  expect(await traces(folder, NAMES)).toEqual([]);
});

test("what an interrupted write left beside the files of a session goes too", async () => {
  const place = await open(["Noted."]);
  const { service, folder } = place;
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: SAID });
  const files = join(folder, "sessions", sessionId);
  mkdirSync(files, { recursive: true });
  writeFileSync(join(files, "summary.txt.1234.tmp"), SAID);
  await service.forgetMemory({ ids: [await idOf("landlord", place)] });
  expect(readdirSync(files).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  expect(await traces(folder, NAMES)).toEqual([]);
});

const PEOPLE = [
  ["Quillonbrax", "Vanderhoof", "732155091"],
  ["Ottiliana", "Marzipane", "848266137"],
  ["Zephyrine", "Kolbenschlag", "951377420"],
  ["Thistlewick", "Obersdorf", "163488952"],
  ["Bramblesnout", "Yellowhammer", "274599306"],
] as const;
type Person = (typeof PEOPLE)[number];
const WORDS = PEOPLE.flat();
const wordsIn = (text: string) => WORDS.filter((word) => text.includes(word));

const STATEMENTS: readonly ((person: Person) => string)[] = [
  ([first, last, sum]) => `My landlord ${first} ${last} takes ${sum} crowns.`,
  ([first, last]) => `${first} ${last} lives above the bakery.`,
  ([first, , sum]) => `I owe ${first} the sum of ${sum} for the harpsichord.`,
  ([, last]) => `Write a letter to the family ${last} about the cellar.`,
];

/** What a model makes of a statement: its answer, and what it thinks and does on the way. */
const ANSWERS: readonly ((person: Person) => readonly ScriptedReply[])[] = [
  () => ["Noted."],
  ([first]) => [`So ${first} it is.`],
  ([first, last, sum]) => [{ text: "Fine.", reasoning: `They mean ${last}, ${first}: ${sum}.` }],
  ([first, last]) => [
    { toolCalls: [{ id: "s", name: "send", args: { to: `${last}, ${first}` } }] },
    "Sent.",
  ],
  ([first]) => [
    { toolCalls: [{ id: "q", name: "memory_search", args: { query: first } }] },
    "Found.",
  ],
  ([, last]) => [
    { toolCalls: [{ id: "t", name: "update_task", args: { notes: { who: last } } }] },
    "Written down.",
  ],
];

const step = fc.record({
  session: fc.nat(1),
  person: fc.constantFrom(...PEOPLE),
  statement: fc.constantFrom(...STATEMENTS),
  answer: fc.constantFrom(...ANSWERS),
  compacts: fc.boolean(),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** SQLite moved a row of the first session to another page, and left its bytes in the old one. */
const MOVED: Step[] = [
  [0, 0, 1, 0],
  [1, 2, 1, 0],
  [1, 3, 2, 0],
  [1, 0, 3, 4],
  [1, 0, 0, 0],
  [0, 0, 1, 0],
  [0, 0, 0, 0],
  [0, 0, 0, 0],
  [0, 0, 0, 0],
].map(([session = 0, person = 0, statement = 0, answer = 0], at) => ({
  session,
  person: PEOPLE[person] ?? PEOPLE[0],
  statement: STATEMENTS[statement] as Step["statement"],
  answer: ANSWERS[answer] as Step["answer"],
  compacts: at === 4,
}));

test("with nothing remaining, a forgotten name is in no byte, and every other name still is", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 9 }),
      fc.array(fc.nat(8), { minLength: 1, maxLength: 2 }),
      async (steps, chosen) => {
        let replies: ScriptedReply[] = [];
        const place = await open(({ messages }) => {
          const next = replies.shift();
          if (next !== undefined) return next;
          const known = wordsIn(JSON.stringify(messages));
          return `In short, ${known.reverse().join(" and ")} came up, and a bakery, and a letter.`;
        });
        const { service, folder, stores, model } = place;
        const sessions = [await service.createSession({}), await service.createSession({})];
        for (const { session, person, statement, answer, compacts } of steps) {
          const { sessionId = "" } = sessions[session] ?? {};
          replies = [...answer(person)];
          await service.startTurn({ sessionId, prompt: `${statement(person)} ${LONG}` });
          replies = [];
          if (compacts) await service.compact({ sessionId });
        }

        const said = new Map<string, string>();
        for (const { sessionId, stored } of await stores.events.readAll(0, 10_000)) {
          const { event, seq } = stored;
          if (event.type === "run_started") said.set(`${sessionId}:${seq}`, event.prompt);
        }
        const prompts = [...said.keys()];
        let ids = [...new Set(chosen.map((place) => prompts[place % prompts.length] ?? ""))];
        const forgotten = new Set<string>();
        for (let round = 0; ids.length > 0; round += 1) {
          expect(round).toBeLessThan(12);
          for (const id of ids) forgotten.add(id);
          ids = [...(await service.forgetMemory({ ids })).remaining];
        }

        const gone = new Set([...forgotten].flatMap((id) => wordsIn(said.get(id) ?? "")));
        expect(await traces(folder, [...gone])).toEqual([]);
        for (const { sessionId } of sessions) {
          await service.startTurn({ sessionId, prompt: "And now?" });
          expect(
            wordsIn(JSON.stringify(model.requests.at(-1))).filter((word) => gone.has(word)),
          ).toEqual([]);
        }
        const log = JSON.stringify(await stores.events.readAll(0, 10_000));
        for (const [id, text] of said) {
          if (!forgotten.has(id)) expect(log).toContain(JSON.stringify(text).slice(1, -1));
        }
      },
    ),
    { numRuns: trials(3, 300), examples: [[MOVED, [4, 0]]] },
  );
}, 900_000);

const CODED = "The vault of Ottilie Vanderhoof opens with tangerine-941703625 at nine.";
const bytes = Buffer.from(CODED);
const base64 = bytes.toString("base64");
const eachByte = (as: string) => bytes.toString("hex").replace(/../g, as);

const WRITINGS: Readonly<Record<string, string>> = {
  Base64: base64,
  "Base64 of addresses": bytes.toString("base64url"),
  "Base64 twice": Buffer.from(base64).toString("base64"),
  "Base64 behind a path": `files/${base64}`,
  "Base64 of a longer text in lines": Buffer.from(`${LONG} ${CODED}`)
    .toString("base64")
    .replace(/.{76}/g, "$&\n"),
  "hexadecimal digits": eachByte("$&"),
  "hexadecimal digits with spaces": eachByte("$& ").trim(),
  "escaped bytes": eachByte("\\x$&"),
  "a part of an address": encodeURIComponent(CODED),
  "bytes of an address": eachByte("%$&"),
  "a form": `${new URLSearchParams({ q: CODED })}`,
  "Base64 in short lines": base64.replace(/.{20}/g, "$&\n"),
  "Base64 of two bytes for each character": Buffer.from(CODED, "utf16le").toString("base64"),
  "an address in an address": encodeURIComponent(encodeURIComponent(CODED)),
  "HTML with entities": [...CODED]
    .map((letter) => `&#x${letter.charCodeAt(0).toString(16)};`)
    .join(""),
  "bytes of a program": eachByte("0x$&, "),
  "a dump of bytes": (bytes.toString("hex").match(/.{1,32}/g) ?? [])
    .map(
      (line, at) =>
        `${String(at * 10).padStart(8, "0")}  ${line.replace(/../g, "$& ")} |${".".repeat(16)}|`,
    )
    .join("\n"),
  "octal escapes": [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
  "a list of numbers": JSON.stringify([...bytes]),
  bits: [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join(" "),
  "quoted printable": eachByte("=$&").toUpperCase(),
  Base32: Array.from(
    [...bytes]
      .map((byte) => byte.toString(2).padStart(8, "0"))
      .join("")
      .match(/.{5}/g) ?? [],
    (bits) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(bits, 2)],
  ).join(""),
  "code points": [...CODED].map((letter) => `\\u{${letter.charCodeAt(0).toString(16)}}`).join(""),
  "wide letters": CODED.replace(/[!-~]/g, (letter) =>
    String.fromCharCode(letter.charCodeAt(0) + 0xfee0),
  ),
  "hidden characters between its letters": [...CODED].join("\u200b"),
  "spaced letters": [...CODED].join(" "),
  "other case": CODED.toUpperCase(),
  "JSON with escapes": CODED.replace(
    /[^ ]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  ),
};

test.each(sampled(Object.entries(WRITINGS), { of: 4, at: 0 }, "attacks"))(
  "a copy as %s leaves what was derived, and the receipt names the message that says it",
  async (_, written) => {
    const { stores, service } = await open(["ok", { reasoning: `So: ${written}.`, text: "fine" }]);
    const { sessionId } = await service.createSession({ memory: true });
    await service.startTurn({ sessionId, prompt: CODED });
    await service.startTurn({ sessionId, prompt: `Read ${written} to me` });
    const inLog = async () =>
      JSON.stringify(await stores.events.readAll(0, 100)).split(
        JSON.stringify(written).slice(1, -1),
      ).length - 1;
    expect(await inLog()).toBe(2);
    const [hit] = await service.searchMemory({ query: "vault Ottilie tangerine" });
    const receipt = await service.forgetMemory({ ids: [hit?.id ?? ""] });
    expect(receipt).toMatchObject({ forgotten: 1, remainingCount: 1 });
    expect(await inLog()).toBe(1);
    const rest = await service.forgetMemory({ ids: [...receipt.remaining] });
    expect(rest).toMatchObject({ remaining: [], remainingCount: 0 });
    expect(await inLog()).toBe(0);
  },
);

const NAMED: Readonly<Record<string, string>> = {
  "a file name": "notes/ottilie-vanderhoof.txt",
  "an identifier": "ottilieVanderhoof",
  "its number in groups": "941,703,625",
  "one name in small letters": "what does vanderhoof say",
  "letters with their accents apart": "José".normalize("NFD"),
};

test.each(sampled(Object.entries(NAMED), { of: 2, at: 1 }, "attacks"))(
  "what has a name of it as %s is named in the receipt, and cut where it was derived",
  async (_, written) => {
    const said = "I told Ottilie Vanderhoof and José that the code is 941703625 today.";
    const { stores, service } = await open(["ok", { reasoning: `So: ${written}.`, text: "fine" }]);
    const { sessionId } = await service.createSession({ memory: true });
    await service.startTurn({ sessionId, prompt: said });
    await service.startTurn({ sessionId, prompt: `Look at ${written} for me` });
    const inLog = async () =>
      JSON.stringify(await stores.events.readAll(0, 100)).split(written).length - 1;
    const [hit] = await service.searchMemory({ query: "told Ottilie code" });
    const receipt = await service.forgetMemory({ ids: [hit?.id ?? ""] });
    expect(receipt.remainingCount).toBe(1);
    await service.forgetMemory({ ids: [...receipt.remaining] });
    expect(await inLog()).toBe(0);
  },
);

test("a word that many write small is no name, although the forgotten text has it with a capital", async () => {
  const { service } = await open(() => "Noted.");
  const { sessionId } = await service.createSession({ memory: true });
  await service.startTurn({ sessionId, prompt: "We told the Harbour about the vault." });
  const messages = Array.from({ length: 9 }, (_, at) => ({
    role: "user" as const,
    content: `Ship ${at} is in the harbour.`,
  }));
  await service.appendMessages({ sessionId, messages });
  const [hit] = await service.searchMemory({ query: "told vault", limit: 1 });
  expect(await service.forgetMemory({ ids: [hit?.id ?? ""] })).toMatchObject({ remaining: [] });
});

test("the receipt counts all messages with a name of the forgotten one, however frequent it is", async () => {
  const { service } = await open(() => "Noted.");
  const { sessionId } = await service.createSession({ memory: true });
  await service.startTurn({ sessionId, prompt: "We met Ottilie Vanderhoof about the vault." });
  const messages = Array.from({ length: 127 }, (_, at) => ({
    role: "user" as const,
    content: `Letter ${at}: please write to Vanderhoof again.`,
  }));
  await service.appendMessages({ sessionId, messages });
  const [hit] = await service.searchMemory({ query: "met Ottilie", limit: 1 });
  const { remaining, remainingCount } = await service.forgetMemory({ ids: [hit?.id ?? ""] });
  expect([remaining.length, remainingCount]).toEqual([100, 127]);
  expect(await service.forgetMemory({ ids: [...remaining] })).toMatchObject({ forgotten: 100 });
});
