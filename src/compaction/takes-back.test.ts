import { describe, expect, test } from "vitest";
import { putsOff, takesBack } from "./takes-back.ts";

describe("what is said next takes a request back", () => {
  test.each([
    ["Delete the staging database.", "Wait, forget that, do not delete it."],
    ["Move the docs to the wiki.", "Never mind the move, leave the docs where they are."],
    ["Export the list as PDF.", "never mind, I found it myself"],
    ["Order ten crates.", "Cancel that order, please."],
    ["Put the logo on the left.", "Scratch that, right side."],
    ["Round the prices.", "That's wrong, they must not be rounded. Revert it."],
    ["Add dark mode.", "Actually drop the dark mode, the designers want to wait."],
    ["Lösche den Ordner alt.", "Halt, doch nicht löschen."],
    ["Envoie le mail à Paul.", "Non, laisse tomber."],
    ["Envía la factura.", "Olvídalo."],
    ["删除这个文件。", "算了，先不要。"],
  ])("%s – %s", (request, next) => expect(takesBack(next, request)).toBe(true));
});

describe("or puts another in its place", () => {
  test.each([
    ["Use red for the header.", "Actually, make it blue instead."],
    ["Set the port to 4310.", "No, set the port to 4400 instead."],
    ["Name it Heron.", "Name it Egret instead."],
  ])("%s – %s", (request, next) => expect(takesBack(next, request)).toBe(true));
});

describe("what is about something else takes nothing back", () => {
  test.each([
    ["Run the tests.", "Never mind the warning, just go on."],
    ["Run the tests.", "And don't forget the linter."],
    ["Rename the class.", "Instead of a map, use a list for the rows."],
    ["Rename the class.", "Skip the changelog."],
    ["Rename the class.", "Do not rename its methods."],
    ["Add tests for the parser.", "Don't add tests for the lexer."],
    ["Refactor the parser. Keep the tests.", "Leave the parser tests alone."],
    ["Start the studio.", "It's tough, but don't let it get you down."],
    ["Book the hotel in Bled.", "Radovljica instead?"],
    ["Book the hotel.", "Leave early on Friday, please."],
  ])("%s – %s", (request, next) => expect(takesBack(next, request)).toBe(false));
});

describe("what is said next stops a request until the person decides", () => {
  test.each([
    "Let me see the invoices first, then I'll decide.",
    "Show me what would go before we decide.",
    "Zeig erst die Rechnungen, danach entscheide ich.",
    "Montre-moi d'abord les factures, ensuite je décide.",
    "Primero enséñame las facturas y luego decido.",
    "Not yet, Ana has to see it.",
    "Nein, noch nicht.",
    "Warte damit, bis Ana da ist.",
  ])("%s", (next) => expect(putsOff(next)).toBe(true));

  test.each([
    "First rename it, then run the tests.",
    "Tell me when you decide to use a table.",
    "Show me the first ten.",
    "I decided for the table.",
  ])("this goes on: %s", (next) => expect(putsOff(next)).toBe(false));
});
