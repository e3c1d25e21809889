import { describe, expect, test } from "vitest";
import { askedName, lacksName } from "./asked-name.ts";

function lacks(question: string, text: string): boolean {
  return lacksName(askedName(question), question, text);
}

describe("lacksName", () => {
  test.each([
    ["what is Magda's surname", "Accountant Magda is late on 3 May."],
    ["what is the roofer's name", "The roofer's bill was 340 euros."],
    ["what are the names of the Petrov twins", "The Petrovs have twins."],
    ["cómo se llama el gato de la vecina", "La vecina tiene un gato."],
    ["как зовут моего соседа", "У моего соседа есть собака."],
    ["who built the shed", "The shed is full of boxes until December."],
    ["vem köpte båten", "Båten ligger i hamnen på torsdag."],
    ["which bank does Magda use", "Magda likes 3 trains."],
    ["which clinic did the blood test", "Blood test: iron 12, too low."],
  ])("%s: %s", (question, text) => {
    expect(lacks(question, text)).toBe(true);
  });

  test.each([
    ["what is Magda's surname", "Magda Wolff leads the team."],
    ["what is the roofer's name", "The roofer, Mr Oduya, charged 340 euros."],
    ["what is the name of the test host", "The test host is called kestrel."],
    ["what is the name of the test host", "The test host is lyon-2."],
    ["what is the name of the column", "The column is user_id."],
    ["wie heißt der Hund der Nachbarn", "Die Nachbarn haben einen Hund."],
    ["名前は何ですか", "猫がいる。"],
    ["who built the shed", "Marta built the shed."],
    ["who built the shed", "My uncle built the shed."],
    ["who built the shed", "The shed was built by a carpenter."],
    ["qui envoie les factures", "Les factures sont envoyées par Claire."],
    ["who is Magda", "Magda is late."],
    ["who is Magda", "Magda likes trains."],
    ["which bank does Magda use", "Magda moved her savings to Sparta Trust."],
    ["which bank does Magda use", "Magda's bank is in the station."],
    ["where is the shed", "The shed is full."],
  ])("not %s: %s", (question, text) => {
    expect(lacks(question, text)).toBe(false);
  });
});
