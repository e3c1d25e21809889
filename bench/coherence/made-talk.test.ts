import { expect, test } from "vitest";
import { groupTalk, type MadeTalk, sentencesIn, severalSessions } from "./made-talk.ts";

const saidIn = ({ sessions }: MadeTalk) =>
  sessions.map((spoken) => spoken.map(({ text }) => text).join("\n"));

test("in a group each answer is said once, early, by the person that the question means", () => {
  for (const seed of [1, 2]) {
    const talk = groupTalk(seed, 200);
    const [spoken = []] = talk.sessions;
    expect(talk.sessions).toHaveLength(1);
    expect(new Set(spoken.map(({ speaker }) => speaker)).size).toBe(4);
    for (const { said, by = "", before, query } of talk.questions) {
      const places = spoken.flatMap(({ text }, at) => (text.includes(said) ? [at] : []));
      expect(places).toHaveLength(1);
      expect(places[0]).toBeLessThan(60);
      expect(spoken[places[0] ?? 0]?.speaker).toBe(by);
      expect(query.includes(by) || query.startsWith("Who ")).toBe(true);
      if (before)
        expect(spoken.findIndex(({ text }) => text.includes(before))).toBeLessThan(places[0] ?? 0);
    }
    for (const { text, by, from } of talk.instructions) {
      expect(spoken[from.place]?.speaker).toBe(by);
      expect(spoken[from.place]?.text).toContain(text);
    }
    // A program names them in every second talk.
    expect(spoken[0]?.text.startsWith(`${spoken[0]?.speaker}: `)).toBe(seed === 2);
  }
});

test("in several sessions each answer is said in the session and on the day that the question has", () => {
  const talk = severalSessions(1, 6);
  const texts = saidIn(talk);
  expect(texts).toHaveLength(6);
  for (const { said, before, session, day } of talk.questions) {
    expect(texts.flatMap((text, at) => (text.includes(said) ? [at] : []))).toEqual([session]);
    expect(talk.sessions[session]?.[0]?.time.slice(0, 10)).toBe(day);
    if (before) expect(texts.findIndex((text) => text.includes(before))).toBeLessThan(session);
  }
  for (const { text, from, holds } of talk.instructions) {
    const first = texts.findIndex((said) => said.includes(text));
    expect(first).toBeLessThan(from.session);
    if (!holds) expect(texts[from.session - 1]).toContain("Forget what I said");
  }
});

test("nothing answers the other questions, and a talk is the same each time", () => {
  for (const make of [() => groupTalk(3, 120), () => severalSessions(3, 5)]) {
    const talk = make();
    expect(make()).toEqual(talk);
    const said = sentencesIn(talk).join(" ");
    for (const query of talk.unrelated) {
      const [, subject = ""] = /the (\w+ of \w+)\?/.exec(query) ?? [];
      expect(subject).not.toBe("");
      expect(said).not.toContain(subject);
    }
  }
});
