import { expect, test } from "vitest";
import { byRoom, decisions, decisionsIn } from "./session-facts.ts";

/** The quotes of a talk in which a model says something and a person answers. */
const decided = (said: string, answer: string) =>
  decisions([
    { at: 1, message: { role: "assistant", content: said } },
    { at: 2, message: { role: "user", content: answer } },
  ])
    .map(({ text }) => text)
    .toReversed();

test.each([
  ["I could put it into a file or use Redis.", "Redis, we run four servers."],
  ["Two ways: a lock for all, or one for readers. The second is smaller.", "one for readers"],
  ["I'd leave the empty rows as they are.", "agreed"],
  ["Ich würde die leeren Zeilen behalten.", "einverstanden"],
  ["On peut trier par nom ou par date.", "par date"],
])("an answer to a proposal is a decision: %s – %s", (said, answer) => {
  expect(decided(said, answer)).toEqual([said, answer]);
});

test("a question without words of its own stands with what it asks about", () => {
  const said = "By name or by date. Which one do you want?";
  expect(decided(said, "by date")).toEqual([said, "by date"]);
});

test.each([
  ["Done, it works. Anything else?", "Leave the old route alone."],
  ["That was the last file. What's next?", "The docs."],
  ["Fertig. Sonst noch etwas?", "Ja, die Hilfe fehlt."],
  ["The parser is done and its tests pass.", "now the docs of the parser"],
  ["I could put it into a file or use Redis.", "how long does the build take now"],
])("what follows an offer or a report is a request and no decision: %s – %s", (said, answer) => {
  expect(decided(said, answer)).toEqual([]);
});

test("words of consent and thanks get room last", () => {
  const texts = [
    "ok",
    "yes, continue",
    "Weiter.",
    "Build the shop.",
    "thanks!",
    "Ship on Friday only.",
  ];
  const order = byRoom(texts.map((text, at) => ({ at, by: "user", text }))).map(({ text }) => text);
  expect(order.slice(0, 2).toSorted()).toEqual(["Build the shop.", "Ship on Friday only."]);
  expect(order.toSorted()).toEqual(texts.toSorted());
});

test.each([
  ["We will use a perfect hash instead of a trie.", undefined],
  ["We settled on pnpm. It is faster in CI.", "We settled on pnpm. It is faster in CI."],
  [
    "Done. I'll keep the old numbering because links point to it.",
    "I'll keep the old numbering because links point to it.",
  ],
  ["- Decided: the table stays.", undefined],
  ["Let's go with the table.", undefined],
  ["Use spawn instead of exec for the long commands.", undefined],
  ["The pipe is read by lines instead of chunks, because chunks cut names.", undefined],
  ["I'm going to use spawn instead of exec, because exec cuts the output.", undefined],
])("a decision is kept with its reason: %s", (text, found = text) => {
  expect(decisionsIn(text)).toEqual([found]);
});

test.each([
  "Wir nehmen die Warteschlange, die Tabelle wird zu groß.",
  "Wir haben uns gegen ein zweites Fenster entschieden.",
  "Ich bleibe bei Lua, denn die Spieler kennen es.",
  "Also bleiben wir bei der alten Adresse.",
  "Lasst uns den grünen Rand behalten.",
  "Die Anmeldung machen wir ohne Konto.",
  "On garde la table des prix.",
  "Nous avons décidé de ne rien envoyer la nuit.",
  "Nos quedamos con el puerto antiguo.",
  "Usamos hilos en lugar de procesos.",
])("a decision in another language is one: %s", (text) => {
  expect(decisionsIn(text)).toEqual([text]);
});

test.each([
  "Ich habe die Schleife statt der Rekursion eingebaut.",
  "Jetzt schreibe ich den Test statt der Anleitung.",
  "Die Summe ist 1191 statt 1190 Cent.",
  "Das Treffen findet am Montag statt.",
  "Je vais utiliser une table au lieu d'une liste.",
  "Nehmen wir die Tabelle?",
  "Morgen machen wir weiter mit den Bildern.",
])("a step, a report and a question in another language are none: %s", (text) => {
  expect(decisionsIn(text)).toEqual([]);
});

test.each([
  "Now let me update the executeBash method.",
  "Now let me update the executeBash method to use spawn instead of exec.",
  "OK, great. I'll rewrite the parser rather than patch it.",
  "Next, I need to look at the tests instead of the code.",
  "Updating the method to return a list instead of a string.",
  "Should we use a table instead of a switch?",
  "> We decided to drop it all.",
  "Now change the callers to use the table instead of the switch:",
  "Instead of fixing each error alone, let me write a helper first.",
  "The invoice test fails: the total is 1191 cents instead of 1190.",
  "Fixed the style objects to use functions instead of strings.",
  "The loader should catch this error instead of crashing.",
])("a step, a report, a question and a quote are none: %s", (text) => {
  expect(decisionsIn(text)).toEqual([]);
});

test("a person who decides again decides, and a model that goes back to work does not", () => {
  for (const text of ["Back to SQLite for the cache.", "Postgres for the cache, final."]) {
    expect(decisionsIn(text, "user")).toEqual([text]);
    expect(decisionsIn(text, "assistant")).toEqual([]);
  }
  expect(decisionsIn("Is this the final one?", "user")).toEqual([]);
});

test("a hostile text takes no long", () => {
  for (const piece of ["ok, ", "we use ", ". ", "now now ", "instead of "]) {
    expect(decisionsIn(piece.repeat(100_000)).length).toBeGreaterThanOrEqual(0);
  }
});
