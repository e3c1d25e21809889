import { expect, test } from "vitest";
import { instructionsIn } from "./instructions-in.ts";

test.each([
  ["Never use the network.", ["Never use the network."]],
  [
    "Fix the parser. Constraint: only edit files under src/. Thanks!",
    ["Constraint: only edit files under src/."],
  ],
  ["From now on answer in German", ["From now on answer in German"]],
  ["Rename it.\nDo not touch the lock file.", ["Do not touch the lock file."]],
  ["You may use the network now.", ["You may use the network now."]],
  ["Stop answering in German.", ["Stop answering in German."]],
  ["You must keep the public API as it is.", ["You must keep the public API as it is."]],
  [
    "Build it.\n\nConstraints:\n- Never use the network\n- only edit files under src/\n\nBegin.",
    ["Never use the network", "only edit files under src/"],
  ],
  [
    "Rules:\n- small files, no classes\n* PNG files stay under 2 MB. Always.\n\n1. Immer auf Deutsch antworten\n2) 回答は短く\n\nBegin with the parser.",
    [
      "small files, no classes",
      "PNG files stay under 2 MB. Always.",
      "Immer auf Deutsch antworten",
      "回答は短く",
    ],
  ],
  ["**Follow these rules:**\n- no network", ["no network"]],
  [`${"Here is what I want. ".repeat(200)}\nNever use the network.`, ["Never use the network."]],
])("a standing instruction is found word for word: %s", (message, expected) => {
  expect(instructionsIn(message)).toEqual(expected);
});

test.each([
  "Don't worry about the tests.",
  "Never mind.",
  "Only then it fails.",
  "You can see it in the log.",
  "Can you only edit src?",
  "He wrote: «Stop. Never use the network. Bye.»",
  "> Never use the network.\nWhat does he mean?",
  "```\nNever use the network.\n```",
  "The readme says:\nNever use the network.",
  "I never use the network.",
  "Things to do:\n- build the parser",
  "The readme has these rules:\n- no network",
  "Rules:\n- > no network",
  "Rules:\nBuild the parser.\n- then its tests",
  "Rules:\n- is this one?",
])("what is said in passing, asked or quoted is none: %s", (message) => {
  expect(instructionsIn(message)).toEqual([]);
});
