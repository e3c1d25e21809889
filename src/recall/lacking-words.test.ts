import { expect, test } from "vitest";
import { sqliteStores } from "../sqlite.ts";
import { chooseRecords } from "./choose-records.ts";
import { addedForLacking } from "./lacking-words.ts";

const desserts = { content: "We had a variety of desserts. I cook them every Sunday." };

test("a prompt needs more, the more of its words the best three results lack, and most for a name", () => {
  const added = (query: string, ...results: readonly { content: string }[]) =>
    addedForLacking(query, results);
  const all = added("Which desserts do you cook?", desserts);
  const other = added("Which desserts does your sister cook?", desserts);
  const name = added("Which desserts does Paola cook?", desserts);
  expect(all).toBe(0);
  expect(other).toBeGreaterThan(all);
  expect(name).toBeGreaterThan(other);
  const paola = { content: "My friend Paola called." };
  expect(added("Which desserts does Paola cook?", desserts, paola)).toBe(0);
  const others = Array.from({ length: 3 }, () => desserts);
  expect(added("Which desserts does Paola cook?", ...others, paola)).toBe(name);
});

test("a number is there only as it was asked, and not in another number or in the hour of a record", () => {
  const added = (content: string, time = "2026-05-08T10:00:00.000Z") =>
    addedForLacking("How many rows has dump 28?", [{ content, time }]);
  expect(added("The rows of dump 28 are complete.")).toBe(0);
  expect(added("The rows of dump 28 are complete.")).toBeLessThan(added("The rows of dump 1280."));
  expect(added("The rows of dump 7.", "2026-05-08T10:28:28.280Z")).toBe(
    added("The rows of dump 7."),
  );
  expect(added("The rows of the dump.", "2026-05-28T10:00:00.000Z")).toBe(0);
});

test("a month is no name, and the text of the prompt itself has none of its words", () => {
  const query = "Which desserts did you cook in Dec?";
  expect(addedForLacking(query, [desserts])).toBe(0);
  const asked = "Which desserts does Paola cook?";
  expect(addedForLacking(asked, [{ content: asked }, desserts])).toBe(
    addedForLacking(asked, [desserts]),
  );
});

test("a long prompt needs no more than ten of its words, and a result by meaning none", () => {
  const words = "harbour lantern cargo ledger crane anchor sailor market winter garden".split(" ");
  const long = `${words.join(" ")} copper violin bridge kettle meadow thunder basket compass`;
  expect(addedForLacking(long, [{ content: words.join(" and ") }])).toBe(0);
  expect(addedForLacking("Which desserts does Paola cook?", [{ content: "Sweets." }])).toBe(0);
});

test("a prompt about somebody whom the talk never named recalls nothing, also when memory has the prompt already", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const said = [
    "We watched two movies on Sunday, and a third one after dinner.",
    "The movies were long, so we went home late.",
    "I cook for my sister on most days.",
    "Our garden has apples and a small pond.",
    ...Array.from({ length: 300 }, (_, at) => `Box ${at} of shelf ${at % 7} has screws and nails.`),
  ];
  const entry = (content: string, index: number) => ({
    id: `${index < said.length ? "s" : "t"}:${index}`,
    content,
    sessionId: "s",
    turn: index,
    kind: "message" as const,
    role: "user",
  });
  await stores.memory.add(said.map(entry));
  const ask = async (query: string) => {
    const hits = await stores.memory.search({ query, limit: 60, sessionId: "s" });
    const isNew = ({ id }: { readonly id: string }) => id < "t";
    const best = hits.find(({ content }) => content === said[0]);
    const choice = { query, bar: 0.42, tokensMax: 500, sessionId: "s", isNew };
    return { match: best?.match ?? 0, found: chooseRecords(hits, choice) };
  };
  const [prompt, own] = ["Which movies did Paola watch?", "Which movies did we watch on Sunday?"];
  const before = await ask(prompt);
  expect(before.match).toBeGreaterThan(0);
  expect(before.found).toBeUndefined();
  expect((await ask(own)).found?.records.length).toBeGreaterThan(0);
  await stores.memory.add([prompt, own].map((text, index) => entry(text, said.length + index)));
  const after = await ask(prompt);
  // Its own text made it look as though somebody had said all of its words.
  expect(after.match).toBeLessThan(before.match + 0.05);
  expect(after.found).toBeUndefined();
  expect((await ask(own)).found?.records.length).toBeGreaterThan(0);
  await stores.close();
});
