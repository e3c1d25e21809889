import { expect, test } from "vitest";
import { sqliteStores } from "../../sqlite.ts";
import { readQuestion } from "../score/question.ts";
import { askedThings, namesThing } from "./asked-things.ts";

test.each([
  ["who holds the key to the library", [["key"], ["library"]]],
  ["what is the phone number of the landlord", [["landlord"]]],
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
    "Ines works as a nurse.",
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
    expect(await found("Welche Allergie hat Herr Wiesböck?", limit)).toBeUndefined();
    // Other words may say the same.
    expect(await found("What is the job of Ines?", limit)).toBe(notes.at(-1));
    expect(await found("Who holds the key to the workshop?", limit)).toBe(notes[0]);
    expect(await found("What does Bram bring to meetings?", limit)).toBe(notes[1]);
    expect(await found("Wann läuft die Miete der Sternwarte aus?", limit)).toBe(notes[4]);
  }
  await stores.close();
});
