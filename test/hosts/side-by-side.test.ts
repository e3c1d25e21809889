import { describe, expect, test } from "vitest";
import { agentRuns, KINDS } from "../../bench/hosts/agent-run.ts";
import { CONTENDERS } from "../../bench/hosts/contenders.ts";
import { isAnsweredBy, violationsIn } from "../../bench/hosts/judge.ts";
import { playAll } from "../../bench/hosts/play-all.ts";
import { renderHosts } from "../../bench/hosts/render-hosts.ts";
import { IN_LONG_FORM, LONG, sampled, trials } from "../support/trials.ts";

// The short form of `npx node bench/hosts/run.ts`.

const HOSTS = [...new Set(CONTENDERS.map(({ host }) => host))];

test.each(HOSTS)("in %s, rkat keeps every promise and answers at least as much", async (host) => {
  const contenders = CONTENDERS.filter((contender) => contender.host === host);
  const rows = await playAll(agentRuns(trials(1, 2, "cases")), contenders);
  const rkat = rows.find(({ name }) => name === "rkat");
  expect(rkat).toMatchObject({ failures: [], violations: { any: 0 } });
  const answered = rows.map((row) => row.answered);
  expect(rkat?.answered).toBe(Math.max(...answered));
  expect(renderHosts(rows)).toContain(`| ${host} | **rkat** | 0 % |`);
});

const OTHERS = CONTENDERS.filter(({ name }) => name === "rkat").flatMap((contender) =>
  KINDS.filter((kind) => kind !== "plain" && (contender.kinds ?? KINDS).includes(kind)).map(
    (kind) => ({ host: contender.host, kind, contender }),
  ),
);

test.each(sampled(OTHERS, { of: 4, at: 3 }, "cases"))(
  "in $host, rkat keeps every promise in a conversation with $kind",
  async ({ kind, contender }) => {
    const [row] = await playAll(agentRuns(trials(1, 3, "cases"), kind), [contender]);
    expect(row).toMatchObject({ failures: [], violations: { any: 0 } });
  },
);

test.skipIf(!LONG).each(CONTENDERS.filter(({ name }) => name === "rkat"))(
  "in $host, rkat keeps every promise in a conversation of 200 turns",
  IN_LONG_FORM,
  async (contender) => {
    const [row] = await playAll(agentRuns(1, "plain", 200), [contender]);
    expect(row).toMatchObject({ failures: [], violations: { any: 0 } });
  },
);

describe("the judge", () => {
  const [run] = agentRuns(1);
  if (!run) throw new Error("no run");
  const { standing, turns } = run;
  const user = { role: "user", content: turns[0]?.prompt };
  const call = (id: string) => ({ type: "function_call", call_id: id, arguments: "{}" });
  const result = (id: string, output = "") => ({
    type: "function_call_output",
    call_id: id,
    output,
  });
  const steps = turns.flatMap((turn) => turn.steps);
  const id = (has: boolean) => {
    return steps.find(({ reasoning }) => (reasoning !== undefined) === has)?.calls[0]?.id ?? "";
  };
  const reasoned = [{ type: "reasoning" }, call(id(true)), result(id(true))];
  const plain = [call(id(false)), result(id(false), "A log. ".repeat(100))];
  const judged = (...inputs: readonly (readonly object[])[]) => {
    const requests = inputs.map((input) => ({ body: { input }, turn: 0, summaries: 0 }));
    return [...violationsIn(run, requests)];
  };

  test("finds nothing in a history that only grows, or that a compaction made smaller", () => {
    expect(judged([user], [user, ...reasoned], [user, ...reasoned, ...plain])).toEqual([]);
    const shorter = [plain[0] as object, result(id(false), "A log.")];
    expect(judged([user, ...plain], [user, ...shorter])).toEqual([]);
  });

  test.each([
    ["callParted", [[user, plain[0] as object]]],
    ["callParted", [[user, plain[1] as object]]],
    [
      "reasoningParted",
      [
        [user, ...reasoned],
        [user, ...reasoned.slice(1)],
      ],
    ],
    ["lastUserLost", [[{ role: "user", content: standing }]]],
    ["standingLost", [[{ role: "user", content: "" }]]],
    [
      "rewritten",
      [
        [user, ...plain, { role: "assistant", content: "Hm." }],
        [user, ...plain],
      ],
    ],
  ])("finds %s", (violation, inputs) => {
    expect(judged(...inputs)).toContain(violation);
  });

  test("lets the records of a new prompt take the place of earlier ones, and nothing else", () => {
    const next = { role: "user", content: turns[1]?.prompt };
    const records = (text: string) => ({ role: "user", content: `[Recalled from memory] ${text}` });
    const said = [user, ...plain, { role: "assistant", content: "Hm." }];
    const judgedIn = (turn: number, before: readonly object[], now: readonly object[]) =>
      [
        ...violationsIn(run, [
          { body: { input: before }, turn: 0, summaries: 0 },
          { body: { input: now }, turn, summaries: 0 },
        ]),
      ].filter((violation) => violation === "rewritten");
    const before = [user, ...plain, records("One."), { role: "assistant", content: "Hm." }];
    expect(judgedIn(1, before, [...said, records("Two."), next])).toEqual([]);
    const noted = { role: "assistant", content: "Noted." };
    const apart = [...said, records("One."), noted, next];
    expect(judgedIn(1, apart, [...said, next, records("Two."), noted, next])).toEqual([]);
    const tagged = { role: "user", content: `<rkat-memory>\n${records("One.").content}` };
    expect(judgedIn(1, [...said, tagged, noted, next], [...said, next])).toEqual([]);
    expect(judgedIn(1, [...said, noted], [...said, next])).toEqual(["rewritten"]);
    expect(judgedIn(0, before, [...said, records("Two.")])).toEqual(["rewritten"]);
    expect(judgedIn(1, before, [user, ...plain, records("Two."), next])).toEqual(["rewritten"]);
  });

  test("takes an answer only where it is said what it is about", () => {
    const question = { query: "", subject: "tide gauge of Deal", answer: "K7-4821" };
    expect(isAnsweredBy("The tide gauge of Deal has the code K7-4821.", question)).toBe(true);
    expect(isAnsweredBy("Codes: K7-4821, B2-1234", question)).toBe(false);
  });
});
