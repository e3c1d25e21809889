import { describe, expect, test } from "vitest";
import type { Message } from "../core/message.ts";
import { correctFacts } from "./correct-facts.ts";

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });
let calls = 0;
const ran = (command: string, content: string, is_error = false): readonly Message[] => {
  calls += 1;
  const id = `c${calls}`;
  return [
    { role: "assistant", content: "", tool_calls: [{ id, name: "Shell", args: { command } }] },
    { role: "tool_results", results: [{ tool_use_id: id, content, is_error }] },
  ];
};
const fix = (summary: string, record: readonly Message[]) => correctFacts(summary, record).text;

const RED = [
  user("Please verify the release."),
  ...ran("cd api && cargo test 2>&1 | tail -3", "result: 61 passed; 4 failed"),
  assistant("Four cases of the ledger break."),
];

describe("a failed command is no success, in whatever words", () => {
  test.each([
    "The whole suite is green.",
    "All tests passed.",
    "All checks ran without any problems.",
    "Alle Tests sind bestanden.",
    "Tous les tests sont verts.",
    "Todas las pruebas pasaron.",
  ])("%s", (claim) => {
    expect(fix(`The release was looked at. ${claim}`, RED)).toBe(
      "The release was looked at. on record: “cargo test” failed (61 passed, 4 failed).",
    );
  });

  test("a call is known by the words of its command", () => {
    const record = [user("Publish it."), ...ran("./publish mirror", "permission denied", true)];
    expect(fix("The publish to the mirror succeeded.", record)).toBe(
      "on record: “./publish mirror” failed.",
    );
    expect(fix("The import succeeded.", record)).toBe("The import succeeded.");
  });

  test.each([
    "The user wants all tests to pass.",
    "Not all tests passed.",
    "All tests passed before the ledger was changed.",
    "All tests passed, then four failed.",
    "The linter passed.",
  ])("a wish, a part and an earlier time are none: %s", (summary) => {
    expect(fix(summary, RED)).toBe(summary);
  });

  test("what succeeded later, or was said to work, counts", () => {
    const summary = "All tests passed.";
    const again = ran("cd api && cargo test", "result: 65 passed; 0 failed");
    expect(fix(summary, [...RED, ...again])).toBe(summary);
    expect(fix(summary, [...RED, user("It works on my machine now.")])).toBe(summary);
  });

  test("a text that is only shown is no outcome", () => {
    const record = [...ran("cat old.log", "3 failed"), ...ran("npm test", "12 passed")];
    expect(fix("All tests passed.", record)).toBe("All tests passed.");
  });
});

describe("an answer stands as it was given", () => {
  const asked = (question: string, answer: string) => [assistant(question), user(answer)];

  test.each([
    [
      "Shall I drop the table of orders?",
      "No, we still need it.",
      "The user approved to drop the table of orders.",
    ],
    [
      "Shall I drop the table of orders?",
      "Please don't, the shop reads it.",
      "The user approved to drop the table of orders.",
    ],
    [
      "Soll ich die Rechnung an Frau Ebner schicken?",
      "Nein, erst nach der Prüfung.",
      "Der Nutzer war einverstanden, die Rechnung an Frau Ebner zu schicken.",
    ],
    [
      "Je supprime les anciens comptes ?",
      "Surtout pas.",
      "L'utilisateur a accepté de supprimer les anciens comptes.",
    ],
    [
      "¿Publico la lista de precios?",
      "Todavía no.",
      "El usuario autorizó publicar la lista de precios.",
    ],
    [
      "Shall I drop the table of orders?",
      "Yes, go ahead.",
      "The user declined to drop the table of orders.",
    ],
  ])("%s – %s", (question, answer, summary) => {
    const text = fix(summary, asked(question, answer));
    expect(text).toBe(`on record: “${answer.replace(/\.$/, "")}”.`);
  });

  test("a later word of the same thing may have changed it", () => {
    const record = [
      ...asked("Shall I drop the table of orders?", "No, we still need it."),
      user("Drop the orders table now, the copy is done."),
    ];
    const summary = "The user approved to drop the table of orders.";
    expect(fix(summary, record)).toBe(summary);
  });

  test("an answer to something else says nothing", () => {
    const record = asked("Shall I rename the report?", "No.");
    const summary = "The user approved to drop the table of orders.";
    expect(fix(summary, record)).toBe(summary);
  });
});
