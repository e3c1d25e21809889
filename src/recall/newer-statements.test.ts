import { expect, test } from "vitest";
import { newestFirst } from "./newer-statements.ts";

/** Results of a search, best first, said on these days of May. */
function hits(...said: readonly (readonly [day: number, content: string])[]) {
  return said.map(([day, content], at) => ({
    ...{
      id: String(day),
      content,
      sessionId: "s",
      turn: 0,
      kind: "message" as const,
      role: "user",
    },
    ...{ time: `2026-05-${String(day).padStart(2, "0")}T10:00:00Z`, score: 0.9 - at / 10 },
  }));
}

test.each([
  [
    "The budget for the kitchen is 900 euros.",
    "Actually the budget for the kitchen is 1200 euros now.",
    "900 euros",
    "1200 euros",
  ],
  [
    "Our staging server listens on port 4310.",
    "The staging port was changed to 4455.",
    "4310",
    "4455",
  ],
  ["The production port is 5000.", "The production port is 5001.", "5000", "5001"],
  [
    "The launch is planned for October 6.",
    "The launch was postponed to November 30.",
    "October 6",
    "November 30",
  ],
  ["My dentist is Dr. Braun.", "My new dentist is Dr. Weiss.", "Dr Braun", "Dr Weiss"],
  [
    "Maria is the lead of the data team.",
    "Oleg is now the lead of the data team.",
    "Maria",
    "Oleg",
  ],
  ["The car is parked in lot B.", "The car is parked in lot F now.", "B", "F"],
  ["max_connections is 100", "max_connections is 250", "100", "250"],
  [
    "My appointment with the dentist is on Tuesday at 15:00.",
    "My appointment with the dentist was moved to Thursday at 11:00.",
    "Tuesday",
    "Thursday",
  ],
  [
    "L'affitto del garage è di 120 euro.",
    "L'affitto del garage è adesso di 150 euro.",
    "120 euro",
    "150 euro",
  ],
  [
    "El plazo para la oferta es el 30 de mayo.",
    "El plazo para la oferta es ahora el 4 de diciembre.",
    "30 mayo",
    "4 diciembre",
  ],
  [
    "Бюджет на ремонт составляет 9000 рублей.",
    "Бюджет на ремонт теперь составляет 12000 рублей.",
    "9000 рублей",
    "12000 рублей",
  ],
  [
    "The deadline of the report is Friday.",
    "The deadline of the report moved from Friday to Monday.",
    "Friday",
    "Monday",
  ],
  [
    "We keep backups for thirty days.",
    "We keep backups for ninety days now.",
    "thirty days",
    "ninety days",
  ],
  ["The owner of billing is Dmitri.", "The owner of billing is Carla.", "Dmitri", "Carla"],
  ["Tests run with Jest.", "We switched from Jest to Vitest.", "Jest", "Vitest"],
  [
    "The launch is on October 6th.",
    "The launch was postponed to October 20th.",
    "October 6th",
    "October 20th",
  ],
  ["The team meeting is at 9:00.", "The team meeting is at 9:30 now.", "9:00", "9:30"],
  ["Our API version is v2.1.0.", "Our API version is v2.2.0.", "v2.1.0", "v2.2.0"],
  ["The rent of the office is $4,000.", "The rent of the office is $4,500.", "$4,000", "$4,500"],
  [
    "Das Budget für die Küche ist 900 Euro.",
    "Das Budget für die Küche ist jetzt 1200 Euro.",
    "900 Euro",
    "1200 Euro",
  ],
  [
    "Der Termin beim Zahnarzt ist am Dienstag.",
    "Der Termin beim Zahnarzt ist jetzt am Donnerstag.",
    "Dienstag",
    "Donnerstag",
  ],
  [
    "The database host is db1.example.com.",
    "The database host is db2.example.com.",
    "db1.example.com",
    "db2.example.com",
  ],
  [
    "Project Falcon is due on May 3rd.",
    "Project Falcon is due on May 17th now.",
    "May 3rd",
    "May 17th",
  ],
  ["The CEO is Anna Weber.", "The CEO is Tom Braun.", "Anna Weber", "Tom Braun"],
  ["The meeting room is B12.", "The meeting room is C3.", "B12", "C3"],
  ["My phone number is 555-1234.", "My new phone number is 555-9876.", "555-1234", "555-9876"],
  ["Mia's favourite colour is green.", "Mia's favourite colour is blue.", "green", "blue"],
  [
    "We store sessions in Redis.",
    "We no longer use Redis for sessions, they are in PostgreSQL now.",
    "Redis",
    "PostgreSQL",
  ],
  ["The release is on June 5.", "The release slipped to June 19.", "June 5", "June 19"],
  ["The request limit is 100 a minute.", "The request limit is 250 a minute.", "100", "250"],
  ["The budget allows 900 euros.", "The budget allows 1200 euros.", "900 euros", "1200 euros"],
  ["Staging uses port 4310.", "Staging uses port 4455.", "4310", "4455"],
  ["We have a 900 euro budget.", "We have a 1200 euro budget.", "900 euro", "1200 euro"],
  ["4310 is the staging port.", "4455 is the staging port.", "4310", "4455"],
  [
    "db1.example.com is the host.",
    "db2.example.com is the host.",
    "db1.example.com",
    "db2.example.com",
  ],
  ["My number is 88.", "My number is 90.", "88", "90"],
  ["We keep 30 backups.", "We keep 60 backups now.", "30 backups", "60 backups"],
  // A day of each week.
  ["The choir meets on Tuesdays.", "The choir meets on Thursdays now.", "Tuesdays", "Thursdays"],
  [
    "Совещание отдела проходит по средам в 11 часов.",
    "Совещание отдела перенесли на пятницу, в 10 часов.",
    "11 часов",
    "10 часов",
  ],
  // A value that the newer statement puts into the past is gone.
  [
    "Photos are stored in Dropbox with a subscription.",
    "Photos are now in Nextcloud, the Dropbox subscription was cancelled.",
    "Dropbox",
    "Nextcloud",
  ],
  [
    "Retries stop after nine tries.",
    "Retries stop after four tries now, nine was too many.",
    "nine tries",
    "four tries",
  ],
  // A name that both have is none of the two values.
  [
    "Pavel Hruby is a surveyor; he lives in Brno.",
    "Pavel Hruby relocated from Brno to Graz.",
    "Brno",
    "Graz",
  ],
  // One clause of the sentence is about the thing.
  [
    "The parking fee is nine euros, the small museum in town takes six.",
    "The parking fee was raised to eleven euros.",
    "nine euros",
    "eleven euros",
  ],
  [
    "The cache runs on lyon-2 behind a proxy.",
    "The cache no longer runs on lyon-2; it was moved to nice-4.",
    "lyon-2",
    "nice-4",
  ],
  [
    "Ida's chess lesson is on Monday at three.",
    "From now on Ida's chess lesson is on Tuesday at six.",
    "Monday",
    "Tuesday",
  ],
  [
    "Der Chor findet montags um 18 Uhr statt.",
    "Der Chor wurde verlegt: ab jetzt freitags um 20 Uhr.",
    "montags",
    "freitags",
  ],
  [
    "De yogales is op maandagavond.",
    "De yogales is verplaatst naar vrijdagavond.",
    "maandagavond",
    "vrijdagavond",
  ],
  [
    "Avgiften är 12 400 kronor.",
    "Avgiften höjdes till 13 100 kronor.",
    "12 400 kronor",
    "13 100 kronor",
  ],
  ["Kod do garażu to 1188.", "Nowy kod do garażu to 9053.", "1188", "9053"],
  ["Toplantı salı günü.", "Toplantı perşembe gününe ertelendi.", "salı", "perşembe"],
  // Since then it holds.
  ["Das Parken kostet 4 Euro.", "Das Parken kostet seit Montag 6 Euro.", "4 Euro", "6 Euro"],
  [
    "The pump firmware is at 1.2.0 and restarts at noon.",
    "Firmware of the pump was upgraded to 2.0.1.",
    "1.2.0",
    "2.0.1",
  ],
])("%s < %s", (older, newer, before, now) => {
  const [first, second] = newestFirst(hits([1, older], [2, newer]));
  expect(first).toMatchObject({ content: newer, score: 0.9, replaces: { id: "1", said: before } });
  expect(second).toMatchObject({ content: older, score: 0.8, replacedBy: { id: "2", said: now } });
  const [, other] = newestFirst(hits([2, newer], [1, older]));
  expect(other).toMatchObject({ content: older, replacedBy: { id: "2" } });
});

test.each([
  ["The staging port is 4310.", "The production port is 5000."],
  ["The phone number of Lena ends in 88.", "The phone number of Mira ends in 90."],
  ["Never deploy on a Friday, said Grace.", "Never deploy on a Monday, said Grace."],
  ["The budget for the kitchen is 900 euros.", "Is the budget for the kitchen 1200 euros?"],
  ["The budget for the kitchen is 900 euros.", "Maybe the budget for the kitchen is 1200 euros."],
  ["The budget for the kitchen is 900 euros.", "The budget for the bathroom is 700 euros now."],
  [
    "The budget for the kitchen is 900 euros.",
    "The budget for the kitchen was approved on Monday.",
  ],
  ["The June budget is 100 euros.", "The November budget is 250 euros."],
  ["You may take 5 of them now.", "You may take 7 of them now."],
  ["Room B12 has 4 chairs.", "Room C3 has 8 chairs now."],
  ["I ran 5 miles.", "I ran 7 miles."],
  ["Berlin is big and loud.", "Paris is big and loud now."],
  ["Maria is the lead of the data team.", "Oleg is now the lead of the web team."],
  ["Dinner with Anna was great.", "Dinner with Ben was great."],
  ["The limit is 5 files and 9 folders.", "The limit is 6 files or 7 files."],
  ["The museum takes six euros.", "The parking fee is nine euros now, the museum was shut."],
  ["Ida's lesson is on Monday at three.", "Ben's lesson is on Tuesday at six now."],
  ["I got a dog and her name is Coco.", "Her name is Shadow now."],
  ["New York has 8 million people.", "New Delhi has 33 million people."],
  // The value says which one of several.
  ["Project Falcon missed the deadline.", "Project Heron missed the deadline."],
  ["Apartment A12 belongs to the owner.", "Apartment A14 belongs to the owner."],
  ["The server db-1 has the default port.", "The server db-2 has the default port."],
  ["We gave Anna the address.", "We gave Ben the address."],
  ["src/a.ts reads the port.", "src/b.ts reads the port."],
  ["On Monday I asked for the address.", "On Tuesday I asked for the address."],
  ["Invoice A17 is above the limit.", "Invoice A18 is above the limit."],
  ["Parcel number 3 went to Leipzig.", "Parcel number 4 went to Leipzig."],
  ["Ticket number 17 blocks the release.", "Ticket number 18 blocks the release."],
  ["Was paid: invoice number 17.", "Was paid: invoice number 18."],
  ["Test case 3 fails on the port check.", "Test case 4 fails on the port check."],
  ["Sensor 3 sends the limit warning.", "Sensor 4 sends the limit warning."],
  ["Apartment 12 belongs to the owner Ben.", "Apartment 14 belongs to the owner Ben."],
  ["The bus 12 leaves for the port.", "The bus 14 leaves for the port."],
  ["Kapitel 3 behandelt das Budget.", "Kapitel 4 behandelt das Budget."],
])("%s | %s", (older, newer) => {
  const found = hits([1, older], [2, newer]);
  expect(newestFirst(found)).toBe(found);
});

test("of three, each old one names what holds, and that one what was before", () => {
  const [a, b, c] = ["100", "250", "300"].map((n) => `The request limit is ${n} a minute.`) as [
    string,
    string,
    string,
  ];
  const found = newestFirst(hits([1, a], [3, c], [9, "Something else."], [2, b]));
  expect(found.map(({ id }) => id)).toEqual(["3", "2", "9", "1"]);
  expect(found.map(({ score }) => score)).toEqual(
    hits([1, a], [3, c], [9, ""], [2, b]).map(({ score }) => score),
  );
  expect(found[0]).toMatchObject({ replaces: { id: "2", said: "250" } });
  expect(found[1]).toMatchObject({ replacedBy: { id: "3", said: "300" } });
  expect(found[3]).toMatchObject({ replacedBy: { id: "3", said: "300" } });
});

test("another author replaces nothing, and neither does an entry without a time", () => {
  const [one, two] = hits([1, "The port is 1 now."], [2, "The port is 2 now."]);
  if (!one || !two) throw new Error("two");
  for (const other of [
    { ...two, role: "assistant" },
    { ...two, speaker: "Ben" },
    { ...two, kind: "rule" as const },
  ]) {
    expect(newestFirst([one, other])).toEqual([one, other]);
  }
  const { time: _, ...timeless } = two;
  expect(newestFirst([one, timeless])).toEqual([one, timeless]);
});

test("a question about a past time gets what held then before what was said later", () => {
  const [a, b, c] = ["100", "250", "300"].map((n) => `The request limit is ${n} a minute.`) as [
    string,
    string,
    string,
  ];
  const until = Date.parse("2026-05-12T00:00:00Z");
  const found = newestFirst(
    hits([20, c], [1, a], [10, b]),
    "what was the request limit",
    () => until,
  );
  expect(found.map(({ id }) => id)).toEqual(["10", "1", "20"]);
  expect(found.map(({ score }) => score)).toEqual(
    hits([1, ""], [2, ""], [3, ""]).map(({ score }) => score),
  );
  expect(found[0]).toMatchObject({ replacedBy: { id: "20" } });
});

test("a later answer from after the time that is asked about does not come first", () => {
  const [one, two] = ["Farid leads sales.", "Petra now leads sales and marketing."];
  const found = hits([1, one], [20, two]).map((hit) => ({ ...hit, match: 0.8 }));
  const first = (until: number) => newestFirst(found, "who leads sales", () => until)[0]?.id;
  expect(first(Date.parse("2026-05-12T00:00:00Z"))).toBe("1");
  expect(first(Number.POSITIVE_INFINITY)).toBe("20");
});
