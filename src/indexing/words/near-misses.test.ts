import { expect, test } from "vitest";
import { isNearMiss } from "./near-misses.ts";

test.each([
  ["What does Yusra's son study?", "Yusra's daughter Samira is studying geology."],
  ["Was sammelt Annegrets Mann?", "Annegrets Schwester sammelt Meteoriten."],
  ["¿Qué estudia la hermana de Inma?", "El tío de Inma estudia veterinaria."],
  ["How old is Ana's sister?", "Ana's brother is 30."],
  ["When did Nuala's shop open?", "Nuala wants to open a small shop, maybe next year."],
  [
    "Wer hat das Fernrohr gekauft?",
    "Das Fernrohr soll verkauft werden, wir haben noch keinen Käufer.",
  ],
  ["Combien a coûté la monture ?", "On envisage d'acheter une monture."],
  ["Which company repainted the dome?", "We want to repaint the dome some time, perhaps in white."],
  ["¿A quién entregó Ignacio el informe?", "Ignacio no terminó el informe."],
])("%s is not answered by: %s", (question, text) => {
  expect(isNearMiss(question, text)).toBe(true);
});

test.each([
  ["What does Yusra's son study?", "Yusra's boy Samir is studying geology."],
  ["Where does my brother live?", "Tom, my twin, lives in Oslo."],
  ["When is my wife's birthday?", "Every person here knows it: Ida was born on 3 May."],
  ["How many kids does Ana have?", "Ana has two children."],
  ["How many hours does the trip take?", "The trip takes 90 minutes."],
  ["Wann kann ich Frau Yıldız anrufen?", "Yıldız ist freitags nicht erreichbar."],
  [
    "Wem hat Tante Gudrun das Klavier geschenkt?",
    "Gudrun hat das Klavier der Musikschule geschenkt.",
  ],
  ["How many attempts until we give up?", "It retries three times before it gives up."],
  ["How many blankets did we order?", "A dozen of the woollen blankets were ordered."],
  ["Combien de temps dure la garantie ?", "La garantie dure cinq ans."],
  ["Who borrowed the ladder?", "Ewan borrowed the ladder and has not brought it back."],
  ["What offer did Prakash turn down?", "Prakash turned down the offer to lead the group."],
  ["What did Gerlinde not send?", "Gerlinde has not sent the invitation."],
  [
    "Why did the bank refuse the loan?",
    "The barn does not have a permission, so the bank refused the loan.",
  ],
  ["Did Prakash renew the domain?", "Prakash did not renew the domain."],
  ["What did the doctor say?", "The doctor said that I should not eat salt."],
  [
    "When did the team decide about the beta?",
    "The team decided not to ship the beta before June.",
  ],
  ["Who spoke about the job?", "Ben said he would like to leave the job."],
  ["How was the trip?", "The trip was not good."],
  ["What went wrong with the deploy?", "The deploy did not finish."],
  [
    "Which part of the car failed?",
    "The failed part of the car was not the pump, it was the belt.",
  ],
  ["When was the boiler last serviced?", "The boiler was never serviced."],
  ["Who borrowed the ladder?", "Nobody has borrowed the ladder."],
  ["Wann wurde der Kessel gewartet?", "Der Kessel wurde nie gewartet."],
  ["¿Cuándo pintaron la valla?", "La valla nunca la pintaron."],
  ["What has to be run before a push?", "Never push without running the checks."],
  ["What kind of cake did Joanna bake?", "Joanna baked a cake with dairy-free frosting."],
  ["How many unique films do we plan to see?", "We plan to see 8 films in April."],
  ["How many days passed between both?", "The first was on 3 May."],
])("%s may be answered by: %s", (question, text) => {
  expect(isNearMiss(question, text)).toBe(false);
});
