import { expect, test } from "vitest";
import { otherWays } from "./definitions.ts";

const ways = (question: string, ...contents: readonly string[]) =>
  otherWays(
    [question],
    contents.map((content) => ({ content, role: "user" })),
  ).map(({ text }) => text);

test.each([
  ["when was k8s upgraded", "k8s = Kubernetes", "when was Kubernetes upgraded"],
  ["who runs Kubernetes", "K8s (short for Kubernetes) runs here.", "who runs K8s"],
  [
    "who wrote the RFC",
    "We want a request for comments (RFC).",
    "who wrote the request for comments",
  ],
  ["a Request for Comments", "Each RFC (request for comments) is read.", "a RFC"],
  [
    "the TTI of the page",
    "We measure Time to Interactive (TTI) now.",
    "the Time to Interactive of the page",
  ],
  ["what runs on staging", "Our staging is hel-db-3.", "what runs on hel-db-3"],
  ["what is on hel-db-3?", "Staging is hel-db-3", "what is on Staging?"],
  [
    "wer prüft die AGB",
    "AGB steht für allgemeine Geschäftsbedingungen.",
    "wer prüft die allgemeine Geschäftsbedingungen",
  ],
  [
    "кто считает НДС",
    "НДС означает налог на добавленную стоимость",
    "кто считает налог на добавленную стоимость",
  ],
  ["bastion keys", "So far\nbastion = jump.example.com\nMore", "jump.example.com keys"],
])("%s, with %s", (question, content, other) => {
  expect(ways(question, content)).toEqual(question === other ? [] : [other]);
});

test.each([
  ["is it done", "IT (information technology) is down."],
  ["what friendship needs", "Friendship means a lot to me."],
  ["the timeout", "timeout = 30"],
  ["the name of the user", "const name = user.name;"],
  ["who is staging", "Is staging hel-db-3?"],
  ["who is staging", "Staging stands for hel-db-3?"],
  ["that thing", "That means trouble."],
  ["staging", "Staging is slow."],
  ["k8s", "k8s = Kubernetes runs k8s"],
])("%s learns nothing of %s", (question, content) => {
  expect(ways(question, content)).toEqual([]);
});

test("what is no person's own word defines nothing, and there are two other ways at most", () => {
  const found = { content: "k8s = Kubernetes" };
  for (const other of [
    { role: "assistant" },
    { role: "tool" },
    { role: "user", speaker: "file" },
    { role: "user", speaker: "program" },
    { kind: "fact" },
  ]) {
    expect(otherWays(["k8s"], [{ ...found, ...other }])).toEqual([]);
  }
  expect(otherWays(["k8s"], [found])).toHaveLength(1);
  expect(ways("k8s", "k8s = Kubernetes", "k8s = cluster", "k8s = platform")).toHaveLength(2);
});

test("a hostile text takes no longer than its length", () => {
  for (const part of ["(", " (A", "A = ", "a (", "A is B-1. ", "stands for ", "x", " "]) {
    expect(ways("A", part.repeat(100_000))).toEqual(expect.any(Array));
  }
});
