import { expect, test } from "vitest";
import { identifyingNames, NameFinder } from "./identifying-names.ts";

const namesIn = (text: string) => identifyingNames([text]).map(({ text: name }) => name);

test("names of people and places, codes and numbers identify a text", () => {
  expect(namesIn("My landlord Quillonbrax Vanderhoof charges 7321 zorkmids.").sort()).toEqual([
    "7321",
    "Quillonbrax",
    "Vanderhoof",
  ]);
  expect(namesIn('The vault opens with "tangerine-9417",\nand Ottilie keeps it.').sort()).toEqual([
    "Ottilie",
    "tangerine-9417",
  ]);
  expect(namesIn("go on, then. 42 times!")).toEqual([]);
});

test("a first word may be any word, so it is marked", () => {
  expect(identifyingNames(["Quillonbrax lives here."])).toEqual([
    { text: "Quillonbrax", isReported: true, begins: true },
  ]);
  expect(namesIn("Because it rains. And so on. You know.")).toEqual([]);
});

test("a path or an identifier identifies a text, and is not reported", () => {
  expect(identifyingNames(["look at src/old/parser.ts"])).toEqual([
    { text: "src/old/parser.ts", isReported: false },
  ]);
});

test("where many words have a capital, a capital makes no name", () => {
  const german =
    "Der Vermieter nimmt die Miete am ersten Tag des Monats, und der Hund der Nachbarin bellt dann im Hof vor dem Haus.";
  expect(namesIn(german)).toEqual([]);
});

test("a name is found as whole words, whatever stands between them", () => {
  const finder = new NameFinder(["tangerine-9417", "Ada"]);
  expect([...finder.namesIn('{"to":"tangerine 9417"}')]).toEqual(["tangerine-9417"]);
  expect([...finder.namesIn("Adana and tangerine-94170")]).toEqual([]);
});

test("a number in groups is one number, however it is written elsewhere", () => {
  const names = namesIn("my account is 4821 193 211, and the IBAN DE89 3704 0044 0532 0130 00");
  expect(names).toEqual(
    expect.arrayContaining(["4821 193 211", "4821193211", "DE89370400440532013000"]),
  );
  const finder = new NameFinder(["4821193211"]);
  for (const text of ["pay 4821-193211", "12 48 21 19 32 11 7", "no. 4821.193.211"])
    expect([...finder.namesIn(text)]).toEqual(["4821193211"]);
  for (const text of ["4821 193 2117", "14821 193 211"])
    expect([...finder.namesIn(text)]).toEqual([]);
  expect(namesIn("on 2024-11-26 it was 12.50 and version 1.22.333")).not.toEqual(
    expect.arrayContaining(["20241126"]),
  );
});
