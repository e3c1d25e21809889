import { describe, expect, onTestFinished, test } from "vitest";
import type { MemoryEntry, MemoryStore } from "../src/core/memory-store.ts";
import { PostgresDatabase } from "../src/stores/postgres/postgres-database.ts";
import { PostgresMemoryStore } from "../src/stores/postgres/postgres-memory-store.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../src/stores/sqlite/sqlite-memory-store.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresAccess } from "./support/postgres.ts";

const NOTES = {
  brandt: "Brandt & Söhne liefert am Montag die neuen Regale.",
  coffee: "Den Vertrag für die Kaffeemaschine kündigen wir zum Jahresende.",
  street: "Das Lager ist in der Rosenstraße 12, gleich hinter dem Bahnhof.",
  aarhus: "Mødet i Århus er flyttet til lokale 14.",
  lodz: "Magazyn w Łodzi zamykamy o osiemnastej.",
  backup: "Резервные копии лежат на сервере nas-2 в подвале.",
  kafka: "我们不用Kafka，因为运维太复杂，改用Postgres队列。",
  meeting: "定例会議は毎週火曜日の午後三時からです。",
  deploy: "배포 서버의 포트는 4310입니다.",
  ahmad: "أحمد مسؤول عن فواتير المكتبة.",
  kiosk: "Dostawa do kiosku przychodzi w piątek rano.",
  cave: "La clé de la cave à vin est dans le tiroir du bas.",
  invoice: "La factura del dentista vence el viernes.",
  allergy: "Mira has a hazelnut allergy, so the dessert is without nuts.",
  staging: "Staging listens on port 4310, behind the old proxy.",
  parser: "The function parseInvoiceTotals lives in billing/invoice_parser.ts.",
  kubernetes: "The Kubernetes cluster has three nodes in Frankfurt.",
  checksum: "The image has the checksum deadbeef41 and the version 2.14.3.",
  release: "The gateway runs v7.31.4 since Monday.",
  bey: "Anahtarı Yıldırım Bey'e verdim.",
  plumber: "De loodgieter heet Kuijpers.",
  key: "المفتاح الاحتياطي في المكتب.",
} as const;

/** Other entries, so that words have a rarity. */
const FILLER =
  "garden table window river mountain paper music train winter summer doctor market school engine budget report ticket branch bridge harbour lantern ladder carpet violin pencil".split(
    " ",
  );

function entriesWith(fillers: number): MemoryEntry[] {
  const notes = Object.entries(NOTES).map(
    ([id, content], turn): MemoryEntry => ({
      id,
      content,
      turn,
      sessionId: `notes ${turn % 4}`,
      kind: "message",
      role: "user",
    }),
  );
  const others = Array.from({ length: fillers }, (_, turn): MemoryEntry => {
    const words = [1, 7, 13, 29].map((step) => FILLER[(turn * step + step) % FILLER.length]);
    return {
      id: `f${turn}`,
      content: `${words.join(" ")}.`,
      turn,
      sessionId: `${turn >> 4}`,
      kind: "message",
    };
  });
  return [...notes, ...others];
}

type Asked = readonly [question: string, first: keyof typeof NOTES | undefined];

const RARE_WORDS: readonly Asked[] = [
  ["Brandt und Soehne", "brandt"],
  ["Wann kommt Brandt?", "brandt"],
  ["wer ist eigentlich dieser Brandt und was will er von uns", "brandt"],
  ["Vertrag Kaffeemaschine kündigen", "coffee"],
  ["wie lange läuft der Vertrag für die Kaffeemaschine", "coffee"],
  ["Lager Rosenstrasse", "street"],
  ["hvor er mødet i Aarhus", "aarhus"],
  ["где сервер резервных копий", "backup"],
  ["что лежит в подвале", "backup"],
  ["为什么不用Kafka", "kafka"],
  ["请问为什么不用Kafka呢", "kafka"],
  ["定例会議はいつですか", "meeting"],
  ["배포 서버의 포트는 무엇인가요", "deploy"],
  ["من هو احمد", "ahmad"],
  ["kiedy jest dostawa do kiosku", "kiosk"],
  ["où est la clé de la cave", "cave"],
  ["¿cuándo vence la factura del dentista?", "invoice"],
  ["which port does staging use", "staging"],
  ["is there anything about a dessert", "allergy"],
  ["who ordered the plates for Mira", "allergy"],
  ["is there anything somewhere about a dessert", "allergy"],
  ["tu te souviens de quelque chose avec tiroir ?", "cave"],
  ["会議について教えてほしいんだけど", "meeting"],
  ["nas2", "backup"],
];

const MISSPELLED: readonly (readonly [...Asked, meant: string | undefined])[] = [
  ["hazlenut alergy", "allergy", "hazelnut allergy"],
  ["who has a hazelnutt allergy", "allergy", "who has a hazelnut allergy"],
  ["Kubernets cluster in Frankfrut", "kubernetes", "Kubernets cluster in Frankfurt"],
  ["allergy and deserrt", "allergy", "allergy and dessert"],
  ["which port is behind the old prxoy", "staging", "which port is behind the old proxy"],
  ["Vertrag Kaffemaschine", "coffee", "Vertrag Kaffeemaschine"],
  ["Rosenstrase Lager", "street", "Rosenstraße Lager"],
  ["сервер с резервными копиями", "backup", undefined],
  ["mødet i Arhus", "aarhus", undefined],
  ["parseInvoiceTotls", "parser", "parseInvoiceTotals"],
  ["invoice_parser", "parser", undefined],
  ["billing/invoice_parser.ts", "parser", undefined],
  ["the checksum deadbee", "checksum", undefined],
  ["deadbeef4", "checksum", undefined],
  ["version 2.14", "checksum", undefined],
  ["7.31", "release", undefined],
  ["7.31.4", "release", undefined],
  ["YILDIRIM", "bey", undefined],
  ["Kuypers", "plumber", undefined],
  ["مفتاح", "key", undefined],
  ["deadbeef42", undefined, undefined],
  ["HAZLENUT", undefined, undefined],
  ["4311", undefined, undefined],
];

const NOTHING: readonly Asked[] = [
  ["what is it", undefined],
  ["was ist das", undefined],
  ["wer ist das und warum", undefined],
  ["что это", undefined],
  ["где он был", undefined],
  ["qu'est-ce que c'est", undefined],
  ["¿qué es esto?", undefined],
  ["che cosa è questo", undefined],
  ["o que é isso", undefined],
  ["wat is dit", undefined],
  ["vad är det", undefined],
  ["co to jest", undefined],
  ["bu nedir", undefined],
  ["什么是", undefined],
  ["这是什么", undefined],
  ["ما هذا", undefined],
  ["מה זה", undefined],
  ["which dentist repaired the yellow submarine", undefined],
  ["how tall is the Eiffel tower in Paris", undefined],
  ["how heavy are the twins of Mira", undefined],
  ["how old is Mira", undefined],
  ["does Mira speak Portuguese", undefined],
  ["what does the code 7717 of the dessert mean", undefined],
  ["what colour is the port of staging", undefined],
  ["wie alt ist der Hund von Brandt", undefined],
  ["what is Mira's surname", undefined],
  ["what is Mira's phone number", undefined],
  ["what is the email address of Brandt", undefined],
  ["when is Mira's birthday", undefined],
  ["who painted the gateway", undefined],
];

const OPEN: Readonly<Record<string, () => Promise<MemoryStore>>> = {
  sqlite: async () => new SqliteMemoryStore(openDatabase({ path: ":memory:" })),
  ...(hasPostgres
    ? {
        postgres: async () =>
          new PostgresMemoryStore(new PostgresDatabase(await postgresAccess()), {
            namespace: crypto.randomUUID(),
          }),
      }
    : {}),
};

async function opened(open: () => Promise<MemoryStore>, fillers: number): Promise<MemoryStore> {
  const store = await open();
  onTestFinished(() => store.close());
  await store.add(entriesWith(fillers));
  return store;
}

async function answers(store: MemoryStore, asked: readonly Asked[]): Promise<Asked[]> {
  const found: Asked[] = [];
  for (const [question] of asked) {
    const [hit] = await store.search({ query: question, limit: 5 });
    found.push([question, hit?.id as Asked[1]]);
  }
  return found;
}

describe.each(Object.entries(OPEN))("on %s", (_, open) => {
  test.each([0, 20, 400])(
    "a rare word of a question finds its entry, beside %i others",
    async (count) => {
      const store = await opened(open, count);
      expect(await answers(store, RARE_WORDS)).toEqual(RARE_WORDS);
      expect(await answers(store, NOTHING)).toEqual(NOTHING);
    },
  );

  test.each([0, 400])(
    "a misspelled word finds what it means, and says so, beside %i others",
    async (count) => {
      const store = await opened(open, count);
      const found: unknown[] = [];
      for (const [query] of MISSPELLED) {
        const [hit] = await store.search({ query, limit: 5 });
        found.push([query, hit?.id, hit?.didYouMean]);
      }
      expect(found).toEqual(MISSPELLED);
    },
  );

  test("a misspelled word counts less than the word itself", async () => {
    const store = await opened(open, 400);
    const [right] = await store.search({ query: "hazelnut dessert", limit: 1 });
    const [wrong] = await store.search({ query: "hazlenut dessert", limit: 1 });
    expect(wrong?.score).toBeLessThan(right?.score ?? 0);
    expect(right?.didYouMean).toBeUndefined();
  });

  test("a word that is added later is found for itself", async () => {
    const store = await opened(open, 20);
    const query = "hazlenut";
    expect((await store.search({ query, limit: 1 }))[0]?.id).toBe("allergy");
    await store.add([
      { id: "new", content: "Hazlenut is a village.", sessionId: "s", turn: 0, kind: "message" },
    ]);
    expect((await store.search({ query, limit: 5 })).map(({ id }) => id)).toEqual(["new"]);
    await store.delete({ ids: ["new"] });
    expect((await store.search({ query, limit: 5 })).map(({ id }) => id)).toEqual(["allergy"]);
  });
});

test.skipIf(!hasPostgres)("both databases give the same scores", NEEDS_POSTGRES, async () => {
  const scores = await Promise.all(
    Object.values(OPEN).map(async (open) => {
      const store = await opened(open, 50);
      const all: unknown[] = [];
      for (const [query] of [...RARE_WORDS, ...NOTHING, ...MISSPELLED]) {
        const hits = await store.search({ query, limit: 5 });
        all.push(hits.map(({ id, score }) => [id, score]));
      }
      return all;
    }),
  );
  expect(scores[1]).toEqual(scores[0]);
});
