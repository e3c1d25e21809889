import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { passage, timeRange } from "./search-history.ts";
import { searchWords } from "./search-words.ts";

test("a time without a zone is in UTC, wherever the process runs", () => {
  const { TZ } = process.env;
  onTestFinished(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  process.env.TZ = "America/New_York";
  const { sinceMs, untilMs } = timeRange({ since: "2025-01-20T10:00", until: "2025-01-20" });
  expect(sinceMs).toBe(Date.UTC(2025, 0, 20, 10));
  expect(untilMs).toBe(Date.UTC(2025, 0, 21) - 1);
});

const filler = (words: number) => "some filler text ".repeat(words);

test("a short text is shown whole", () => {
  expect(passage("a b c", searchWords("b"))).toBe("a b c");
});

test("a passage has the place where most of the words are", () => {
  const text = `a kettle ${filler(400)} the copper kettle in the kitchen ${filler(400)} a kitchen`;
  const shown = passage(text, searchWords("copper kettle kitchen"));
  expect(shown).toContain("the copper kettle in the kitchen");
  expect(shown).toMatch(/^….*…$/s);
});

test("a passage has the word that was found in another form, or in a script without spaces", () => {
  expect(passage(`${filler(400)} it was compacted`, searchWords("compacting"))).toMatch(
    /compacted$/,
  );
  expect(passage(`${"文章".repeat(2000)}東京都`, searchWords("東京"))).toMatch(/東京都$/);
});

test("a passage is at most 2 000 characters and its ellipses, and cuts none in two", () => {
  const piece = fc.constantFrom("🙂", "word ", "kettle ", "東京", "\n", "x".repeat(300), "e\u0301");
  const text = fc
    .array(piece, { minLength: 1, maxLength: 60 })
    .map((pieces) => pieces.join("").repeat(20));
  fc.assert(
    fc.property(text, fc.constantFrom("kettle", "東京", "absent", ""), (text, query) => {
      const shown = passage(text, searchWords(query));
      expect(shown.length).toBeLessThanOrEqual(2002);
      expect(shown.isWellFormed()).toBe(true);
      expect(text).toContain(shown.replace(/^…|…$/g, ""));
    }),
  );
});
