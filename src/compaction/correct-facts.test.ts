import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Message, summaryMessage } from "../core/message.ts";
import { compactHistory } from "./compact-history.ts";
import { correctFacts } from "./correct-facts.ts";

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });

const RECORD: readonly Message[] = [
  user("Send the invoice to Marta by Friday. Do not touch src/legacy/billing.ts."),
  assistant(
    "The timeout of ORDER_QUEUE is 30 s. test/parser.test.ts failed. FEATURE_RETRY is disabled.",
  ),
  user("Raise it. Never deploy the warehouse image on Friday."),
  assistant("The timeout of ORDER_QUEUE is 45 s now. test/parser.test.ts passed."),
  assistant(
    "migrations/0042_lower.sql is still open. FEATURE_RETRY is enabled. test/pool.test.ts failed.",
  ),
  user("The travel budget is 900 euros, do not exceed it. Keep the public interface unchanged."),
];

const fix = (summary: string, record = RECORD) => correctFacts(summary, record).text;

describe("what the record contradicts is corrected or dropped", () => {
  test.each([
    ["The timeout of ORDER_QUEUE is 30 s.", "The timeout of ORDER_QUEUE is 45 s."],
    ["ORDER_QUEUE waits 99 s.", "ORDER_QUEUE waits 45 s."],
    ["test/parser.test.ts failed.", "test/parser.test.ts passed."],
    [
      "test/parser.test.ts is failing, but work goes on.",
      "test/parser.test.ts is passing, but work goes on.",
    ],
    ["test/pool.test.ts passes.", "test/pool.test.ts fails."],
    ["test/pool.test.ts did not fail. Next: docs.", "test/pool.test.ts did not fail. Next: docs."],
    ["test/parser.test.ts has not passed. Next: docs.", "Next: docs."],
    ["migrations/0042_lower.sql is done.", "migrations/0042_lower.sql is open."],
    ["- FEATURE_RETRY is disabled\n- Next: docs", "- FEATURE_RETRY is enabled\n- Next: docs"],
    ["The travel budget is 700 euros.", "The travel budget is 900 euros."],
    [
      "The user asked NOT to send the invoice.",
      "on record: “Send the invoice to Marta by Friday”.",
    ],
    [
      "The user said to touch src/legacy/billing.ts.",
      "on record: “Do not touch src/legacy/billing.ts”.",
    ],
    [
      "The warehouse image: deploy it, deploy the warehouse image on Friday.",
      "The warehouse image: deploy it, on record: “Never deploy the warehouse image on Friday”.",
    ],
  ])("%s", (summary, expected) => {
    expect(fix(summary)).toBe(expected);
  });
});

const TALK: readonly Message[] = [
  user("Deploy the gateway to staging, the port there is 4310. Do not touch production again."),
  assistant("The smoke test passed in 38 s. The rollout failed."),
  assistant("Renamed parseDate to readDate in src/dates.ts and its 14 callers."),
  assistant("The bundle shrank from 310 KB to 92 KB. Use Temporal instead of moment.js."),
  assistant(
    "The proxy timeout is 45 s now in infra/proxy.yaml, it was 30 s. The CI of main is red.",
  ),
  assistant("No, the Hotel Infante is fully booked. We fly on 12 May and come back on 17 May."),
  user("Anna can't eat shellfish."),
  assistant("The page loads in 2.4 s instead of 6.1 s."),
  assistant("In the cellar the admin page listens on port 9020."),
];

describe("what became what, a made-up number, and the opposite in other words are put right", () => {
  test.each([
    ["The smoke test failed in 38 s.", "The smoke test passed in 38 s."],
    ["The smoke test failed.", "The smoke test passed."],
    ["The CI of main is green.", "The CI of main is red."],
    ["The Hotel Infante is free.", "The Hotel Infante is booked."],
    ["Anna can eat shellfish.", "on record: “Anna can't eat shellfish”."],
    ["The user asked to touch production again.", "on record: “Do not touch production again”."],
    ["infra/proxy.yaml waits 30 s.", "infra/proxy.yaml waits 45 s."],
    [
      "readDate was renamed to parseDate.",
      "on record: “Renamed parseDate to readDate in src/dates.ts and its 14 callers”.",
    ],
    [
      "The bundle went from 92 to 310 KB. Next: docs.",
      "on record: “The bundle shrank from 310 KB to 92 KB”. Next: docs.",
    ],
    [
      "The page loads in 6.1 s instead of 2.4 s.",
      "on record: “The page loads in 2.4 s instead of 6.1 s”.",
    ],
    ["Temporal was replaced by moment.js.", "on record: “Use Temporal instead of moment.js”."],
    ["The gateway was deployed to port 4130.", "The gateway was deployed to port 4310."],
    ["src/dates.ts and lib/a.ts have 41 callers.", "src/dates.ts and lib/a.ts have 14 callers."],
    ["They fly on 21 May.", "They fly on 12 May."],
    [
      "The admin page in the cellar listens on port 8080.",
      "The admin page in the cellar listens on port 9020.",
    ],
  ])("%s", (summary, expected) => {
    expect(fix(summary, TALK)).toBe(expected);
  });

  test.each([
    "The smoke test passed, the rollout failed.",
    "parseDate was renamed to readDate. moment.js was replaced by Temporal.",
    "The bundle went from 310 to 92 KB, so from 92 KB on it is small.",
    "The whole took 52 minutes and 45 tests.",
    "The Hotel Infante was fully booked. Anna cannot eat shellfish.",
    "They come back on 17 May, after about 21 callers.",
    "A second port is 8080.",
    "The trip is over on 18 May.",
  ])("an honest summary of it stays: %s", (summary) => {
    expect(fix(summary, TALK)).toBe(summary);
  });

  test("what an earlier summary has of what left before is known", () => {
    const earlier = [
      summaryMessage(
        "The old gateway on staging had port 4130. The timeout was raised from 30 to 45 s.",
      ),
      ...TALK,
      assistant("The timeout went back from 45 to 30 s."),
    ];
    for (const text of [
      "The old gateway was on port 4130.",
      "The timeout was raised from 30 to 45 s, and went from 45 to 30 s.",
    ])
      expect(fix(text, earlier)).toBe(text);
  });

  test("what was changed back may be told in either direction", () => {
    const back = [...TALK, assistant("Renamed readDate to parseDate, as it was.")];
    for (const text of ["parseDate was renamed to readDate.", "readDate was renamed to parseDate."])
      expect(fix(text, back)).toBe(text);
  });
});

describe("a negation is read in other languages", () => {
  test.each([
    ["Der Drucker im Keller druckt keine Farben.", "Der Drucker im Keller druckt Farben."],
    ["La porte du jardin n'est pas fermée.", "La porte du jardin est fermée."],
    ["El taller no abre los lunes.", "El taller abre los lunes."],
  ])("%s", (record, summary) => {
    expect(fix(summary, [assistant(record)])).toBe(`on record: “${record.slice(0, -1)}”.`);
    expect(fix(record, [assistant(record)])).toBe(record);
  });
});

describe("an honest summary stays as it is", () => {
  test.each([
    "The timeout of ORDER_QUEUE was 30 s at first; it is 45 s now.",
    "The timeout of ORDER_QUEUE was raised from 30 to 45 s.",
    "ORDER_QUEUE waited 30 s before the change.",
    "test/parser.test.ts hung, then it passed.",
    "test/parser.test.ts failed, then it passed.",
    "test/parser.test.ts failed because the table was cold.",
    "test/parser.test.ts failed. Now it passes.",
    "test/parser.test.ts should not fail again.",
    "If test/pool.test.ts passes, deploy.",
    "Does test/pool.test.ts pass? It passes elsewhere.",
    "test/pool.test.ts failed, but test/parser.test.ts passed.",
    "test/pool.test.ts and test/parser.test.ts passed or failed.",
    "It failed. They passed. That is done.",
    "migrations/0042_lower.sql is not done.",
    "migrations/0042_lower.sql has to be done next.",
    "Send the invoice to Marta, not to Contoso.",
    "The user does not want src/legacy/billing.ts touched.",
    "Do not send the second invoice to Marta.",
    "Never exceed the travel budget of 900 euros.",
    "The deadline is 12 June, with 3 people and 700 euros for food.",
    "FEATURE_RETRY was disabled for a test, and is enabled.",
    "Der Test test/pool.test.ts schlägt fehl; ORDER_QUEUE wartet 45 s.",
    "ORDER_QUEUE 的超时为 45 s。",
  ])("%s", (summary) => {
    expect(fix(summary)).toBe(summary);
  });

  test("what a record says in two ways, or later about all, is not certain", () => {
    const later = [...RECORD, assistant("I fixed the queue. All tests passed.")];
    expect(fix("test/pool.test.ts passed.", later)).toBe("test/pool.test.ts passed.");
    const both = [...RECORD, assistant("test/pool.test.ts and test/parser.test.ts passes.")];
    expect(fix("test/pool.test.ts passes.", both)).toBe("test/pool.test.ts passes.");
    const counted = [assistant("test/a.test.ts: 14 passed, 2 failed.")];
    expect(fix("test/a.test.ts failed.", counted)).toBe("test/a.test.ts failed.");
  });

  test("a tool's text is never quoted as a demand", () => {
    const read: Message = {
      role: "tool_results",
      results: [{ tool_use_id: "c", content: "Never review payment changes.", is_error: false }],
    };
    expect(fix("Review payment changes.", [read])).toBe("Review payment changes.");
  });
});

/** Made conversations: each thing has one fact, stated in one of several ways, perhaps after an older one. */
const THINGS = [
  "src/api/orders.ts",
  "test/queue.test.ts",
  "docs/setup.md",
  "ORDER_LIMIT",
  "lib/cache.py",
  "PAYMENT_URL",
];
const FACTS: readonly (readonly [
  (of: string, value: number) => string,
  (of: string, value: number) => string,
])[] = [
  [(of, value) => `${of} takes ${value} ms.`, (of, value) => `${of} takes ${value + 7} ms.`],
  [
    (of, value) => `The limit of ${of} is ${value} MB.`,
    (of, value) => `The limit of ${of} is ${value * 3} MB.`,
  ],
  [(of) => `${of} passed.`, (of) => `${of} failed.`],
  [(of) => `${of} is failing.`, (of) => `${of} is passing.`],
  [(of) => `${of} is done.`, (of) => `${of} is not done.`],
  [(of) => `${of} is still open.`, (of) => `${of} is done.`],
  [(of) => `${of} is enabled.`, (of) => `${of} is disabled.`],
  [(of) => `Never rewrite ${of} by hand.`, (of) => `The user asked to rewrite ${of} by hand.`],
  [
    (of) => `Translate ${of} for Marta.`,
    (of) => `The user does not want to translate ${of} for Marta.`,
  ],
];
const madeTalk = fc
  .tuple(
    fc.shuffledSubarray(THINGS, { minLength: 2 }),
    fc.array(fc.nat(FACTS.length - 1), { minLength: THINGS.length, maxLength: THINGS.length }),
    fc.integer({ min: 10, max: 900 }),
    fc.boolean(),
  )
  .map(([things, kinds, value, hasOlder]) => {
    const facts = things.map((of, at) => {
      const [says, turns] = FACTS[kinds[at] ?? 0] as (typeof FACTS)[number];
      return { true: says(of, value + at), false: turns(of, value + at) };
    });
    const older = hasOlder ? [assistant(facts[0]?.false ?? "")] : [];
    const talk = facts.map((fact, at) =>
      at % 2 ? user(fact.true) : assistant(`I looked. ${fact.true}`),
    );
    return { facts, record: [user("Look at all of it, please."), ...older, ...talk] };
  });

describe("over made conversations", () => {
  test("a summary of what was said is never changed", () => {
    fc.assert(
      fc.property(madeTalk, fc.constantFrom(" ", "\n", "\n- "), ({ facts, record }, between) => {
        const summary = facts.map((fact) => fact.true).join(between);
        expect(fix(summary, record)).toBe(summary);
      }),
    );
  });

  test("a statement that was turned around does not survive, and the others do", () => {
    fc.assert(
      fc.property(madeTalk, fc.nat(), ({ facts, record }, seed) => {
        const wrong = seed % facts.length;
        const lines = facts.map((fact, at) => (at === wrong ? fact.false : fact.true));
        const fixed = fix(lines.join("\n"), record);
        expect(fixed).not.toContain(facts[wrong]?.false);
        for (const [at, fact] of facts.entries())
          if (at !== wrong) expect(fixed).toContain(fact.true);
      }),
    );
  });
});

describe("a comma parts the digits of a number, and no clauses", () => {
  test.each([
    ["The limit of ORDER_QUEUE is 1000.", "The limit of ORDER_QUEUE is 1,000."],
    ["The limit of ORDER_QUEUE is 1,000.", "The limit of ORDER_QUEUE is 1000."],
    ["The limit of ORDER_QUEUE is 1,000 rows.", "Das Limit von ORDER_QUEUE ist 1.000 rows."],
    ["ORDER_QUEUE takes 10.5 s.", "ORDER_QUEUE takes 10,5 s."],
    ["See https://a.example/x?limit=1;b=2 for ORDER_QUEUE.", "ORDER_QUEUE takes 3 s."],
  ])("%s is what the record says: %s", (summary, record) => {
    expect(fix(summary, [user(record)])).toBe(summary);
  });

  test("the record's number stands as the record wrote it", () => {
    const record = [user("The limit of ORDER_QUEUE is 1,500 rows.")];
    expect(fix("The limit of ORDER_QUEUE is 2,000 rows.", record)).toBe(
      "The limit of ORDER_QUEUE is 1,500 rows.",
    );
  });

  test("wide marks end a clause", () => {
    const record = [user("FEATURE_RETRY is enabled.")];
    expect(fix("FEATURE_RETRY is disabled\uff0cthen docs", record)).toBe(
      "FEATURE_RETRY is enabled\uff0cthen docs",
    );
    expect(fix("FEATURE_RETRY is disabled\uff1f", record)).toBe("FEATURE_RETRY is disabled\uff1f");
  });
});

test("a correction is corrected without a quote in a quote, however often", () => {
  let summary = "The user asked NOT to send the invoice.";
  const record = [...RECORD];
  for (let round = 0; round < 6; round += 1) {
    const text = fix(summary, record);
    expect(text.split("on record").length).toBeLessThanOrEqual(2);
    expect(text).toContain("Send the invoice to Marta by Friday");
    record.push(summaryMessage(text));
    // The next model reads it the wrong way again, and takes the form of the correction along.
    summary = text.replace("Send", "Do not send");
  }
});

test("a hostile text takes no longer than its length asks for", () => {
  const clauses = (count: number) =>
    Array.from(
      { length: count },
      (_, at) => `rewrite the same ${"old ".repeat(at % 7)}thing not ${at}`,
    );
  const record = [user(clauses(20_000).join(", ")), assistant("passed failed ".repeat(5000))];
  const texts = [
    clauses(2000).join(", "),
    "not ".repeat(20_000),
    "a.b/".repeat(20_000),
    ", ,".repeat(20_000),
  ];
  for (const text of texts) expect(typeof fix(text, record)).toBe("string");
});

test("a compaction commits the corrected summary", async () => {
  const filler = Array.from({ length: 12 }, (_, at) => [
    user(`Question ${at}${" and so on".repeat(60)}`),
    assistant(`Answer ${at}${" and so on".repeat(60)}`),
  ]);
  const result = await compactHistory({
    messages: [...RECORD, ...filler.flat()],
    autoCompactThreshold: 2000,
    summarize: async () =>
      "test/parser.test.ts passed; ORDER_QUEUE waits 30 s; migrations/0042_lower.sql is done. Invoice to Marta by Friday, src/legacy/billing.ts stays.",
  });
  expect(result).toMatchObject({ outcome: "compacted", summarizedBy: "model" });
  expect(result.summary).toContain("ORDER_QUEUE waits 45 s; migrations/0042_lower.sql is open.");
});
