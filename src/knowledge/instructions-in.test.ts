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
])("what is said in passing, asked or quoted is none: %s", (message) => {
  expect(instructionsIn(message)).toEqual([]);
});
