import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GENERAL_CUE, LASTING_CUES, lastingCues, SURE_CUES } from "./lasting-cues.ts";

const SUPPORT = join(import.meta.dirname, "../../test/support");

/** The part of a file's sentences that has so many cues. */
function partWith(cues: number, file: string): number {
  const sentences = readFileSync(join(SUPPORT, file), "utf8").trim().split("\n");
  return sentences.filter((text) => lastingCues(text) >= cues).length / sentences.length;
}

test("most of what people say to hold has cues, and little of what is done with its answer", () => {
  expect(partWith(LASTING_CUES, "lasting-sentences.txt")).toBeGreaterThan(0.88);
  expect(partWith(LASTING_CUES, "passing-sentences.txt")).toBeLessThan(0.14);
  expect(partWith(SURE_CUES, "lasting-sentences.txt")).toBeGreaterThan(0.55);
  expect(partWith(SURE_CUES, "passing-sentences.txt")).toBeLessThan(0.05);
});

test("nine of ten things that people ask for once have a cue or are general, in many languages", () => {
  expect(partWith(GENERAL_CUE, "wishes-said-once.txt")).toBeGreaterThan(0.9);
  expect(partWith(GENERAL_CUE, "lasting-sentences.txt")).toBeGreaterThan(0.97);
  expect(partWith(GENERAL_CUE, "passing-sentences.txt")).toBeLessThan(0.4);
});

test.each([
  "Forget what I said about tabs, two spaces it is.",
  "Scrap the 40 euro limit, 60 is fine.",
  "I changed my mind: reports in English again.",
  "Change of plan, the mail archive comes first.",
  "Vergiss das mit den Tabs, nimm Leerzeichen.",
  "You've got till six, after that I'm offline.",
  "We don't do force pushes here.",
  "It'd be great if you could leave my comments alone.",
  "It would be best if log lines stayed on one line.",
  "Could you hold off on releases until I say so?",
  "pls no abbreviations in names",
  "Treat warnings as if they were errors.",
  "End with a question in each answer.",
  "After every change, run the formatter.",
  "Keep out of the group chat, that stays between us.",
  "Nach jeder Änderung das Protokoll ergänzen.",
  "Meine Mutter hat eine Nussallergie.",
  "Avant chaque envoi, montre-moi le texte.",
  "Después de cada cambio, avísame.",
  "Houd het zakelijk.",
  "Contracts go through Ines.",
])("a change of mind, a limit and a polite wish have cues: %s", (sentence) => {
  expect(lastingCues(sentence)).toBeGreaterThanOrEqual(LASTING_CUES);
});

test.each([
  "Write a poem in which nobody may use the letter e.",
  'Translate: "Never leave your luggage unattended."',
  "I can't find the button.",
  "Don't remember, maybe in May.",
  "Der Chef meinte, wir sollen nie freitags deployen.",
  "Forget it.",
])("a work that is made once, knowledge and reported speech have none: %s", (sentence) => {
  expect(lastingCues(sentence)).toBeLessThan(LASTING_CUES);
});
