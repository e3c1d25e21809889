import { expect, test } from "vitest";
import { sqliteStores } from "../../sqlite.ts";
import { readQuestion } from "../score/question.ts";
import { askedThings, askedTogether, namesThing } from "./asked-things.ts";

test.each([
  ["who holds the key to the library", [["key"], ["library"]]],
  ["how cold is the battery room", [["battery", "room"]]],
  ["Wie hoch ist die Miete von Halina?", [["miete"], ["halina"]]],
  ["où est la clé du portail", [["cle"], ["portail"]]],
  ["how did the engineer Chiara do", [["chiara"]]],
  ["cancelling the contract", []],
  ["is it the end of the week", []],
  ["what does the dog of my sister eat", []],
])("knows the things that a question names: %s", (text, things) => {
  expect(askedThings(readQuestion(text), () => true)).toEqual(things);
});

test.each([
  ["When does Orla swim?", [["orla"], ["swim"]]],
  ["When did Orla go there in May?", []],
  ["When does Orla skate?", []],
  ["when does Orla swim", []],
  ["When does the club swim?", []],
])("knows the names of a question and its other words: %s", (text, both) => {
  expect(askedTogether(readQuestion(text), (word) => word !== "skate")).toEqual(both);
});

test("a thing is named by a longer word too, and by its adjective", () => {
  expect(namesThing("Der Hausarzttermin ist um zehn.", ["arzt"])).toBe(true);
  expect(namesThing("Customers in Norway pay no tax.", ["norwegians"])).toBe(true);
  expect(namesThing("The key of the workshop", ["library"])).toBe(false);
});

test("what is said of another thing or person is no answer, however many are asked for", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  const notes = [
    "Ottoline holds the key to the battery room, Prakash holds the one to the workshop.",
    "Bram is vegetarian and brings his own cake to meetings.",
    "Prakash turned down the offer to lead the outreach group.",
    "Die Kuppelheizung wurde im Januar von Herrn Wiesböck eingebaut.",
    "Der Mietvertrag der Sternwarte läuft bis Ende 2031.",
    "Summer fair: most of the money came from the tombola.",
    "The lecture about binary stars had 74 listeners.",
    "The lecture about comets was given by Prakash.",
  ];
  await stores.memory.add(
    notes.map((content, turn) => {
      return { id: `${turn}`, sessionId: "s", turn, kind: "message", role: "user", content };
    }),
  );
  const found = async (query: string, limit = 5) => {
    const [first] = await stores.memory.search({ query, limit });
    return first?.content;
  };
  for (const limit of [1, 5, 50]) {
    expect(await found("Who holds the key to the library?", limit)).toBeUndefined();
    expect(await found("Is Ottoline vegetarian?", limit)).toBeUndefined();
    expect(await found("Since when has Prakash led the outreach group?", limit)).toBeUndefined();
    expect(await found("How many visitors came to the summer fair?", limit)).toBeUndefined();
    expect(await found("Is Bram vegetarian?", limit)).toBe(notes[1]);
    expect(await found("What offer did Prakash turn down?", limit)).toBe(notes[2]);
    expect(await found("Welche Allergie hat Herr Wiesböck?", limit)).toBeUndefined();
    expect(await found("Who holds the key to the workshop?", limit)).toBe(notes[0]);
    expect(await found("What does Bram bring to meetings?", limit)).toBe(notes[1]);
    expect(await found("Wann läuft die Miete der Sternwarte aus?", limit)).toBe(notes[4]);
  }
  await stores.close();
});
