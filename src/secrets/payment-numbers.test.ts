import { afterEach, beforeEach, expect, test } from "vitest";
import { LOOKALIKES } from "../../test/support/lookalikes.ts";
import { HARMLESS } from "../../test/support/sample-secrets.ts";
import { redactPayments } from "./payment-numbers.ts";
import { redactEvent, redactJson } from "./redact-message.ts";
import { redactSecrets } from "./redact-secrets.ts";

beforeEach(() => redactPayments());
afterEach(() => redactPayments(false));

/** Numbers that networks and registries publish for tests, one of each issuer. */
const CARDS = [
  "4111111111111111",
  "4222222222222",
  "5555555555554444",
  "2223003122003222",
  "378282246310005",
  "30569309025904",
  "36227206271667",
  "6011111111111117",
  "3530111333300000",
  "6200000000000005",
  "6759649826438453",
  "2200770212727079",
  "6205500000000000004",
];

const IBANS = [
  "DE89370400440532013000",
  "GB82WEST12345698765432",
  "FR1420041010050500013M02606",
  "NL91ABNA0417164300",
  "NO9386011117947",
  "MT84MALT011000012345MTLCAST001S",
  "CH9300762011623852957",
  "BR9700360305000010009795493P1",
];

const byFour = (text: string, sign: string) => text.match(/.{1,4}/g)?.join(sign) ?? text;

test.each(CARDS)("finds the card %s", (card) => {
  const forms = [card];
  if (card.length === 16 || card.length === 19) {
    forms.push(
      byFour(card, " "),
      byFour(card, "-"),
      byFour(card, "\u00a0"),
      byFour(card, "\u2011"),
    );
  }
  for (const form of forms) {
    expect(redactSecrets(`Pay with ${form}, please.`)).toBe(
      "Pay with [redacted card number], please.",
    );
  }
});

test("finds a card in the groups of American Express and Diners Club", () => {
  expect(redactSecrets("3782 822463 10005")).toBe("[redacted card number]");
  expect(redactSecrets("3056-930902-5904")).toBe("[redacted card number]");
});

test.each(IBANS)("finds the account %s", (iban) => {
  for (const form of [iban, byFour(iban, " "), byFour(iban, "-"), iban.toLowerCase()]) {
    expect(redactSecrets(`IBAN: ${form} bitte.`)).toBe("IBAN: [redacted IBAN] bitte.");
  }
});

test("finds numbers beside others: an expiry, a column, a line in JSON, a full stop", () => {
  const card = "[redacted card number]";
  expect(redactSecrets("4111 1111 1111 1111 12/27 737")).toBe(`${card} 12/27 737`);
  expect(redactSecrets("2 4111 1111 1111 1111")).toBe(`2 ${card}`);
  expect(redactSecrets("1,4111111111111111,12/27\n2,5555555555554444,01/28")).toBe(
    `1,${card},12/27\n2,${card},01/28`,
  );
  expect(redactSecrets("It is 4111111111111111.")).toBe(`It is ${card}.`);
  expect(redactSecrets('{"text":"cards:\\n4111111111111111\\nDE89370400440532013000"}')).toBe(
    `{"text":"cards:\\n${card}\\n[redacted IBAN]"}`,
  );
  expect(redactSecrets("pan=4111111111111111&cvc=737")).toBe(
    `pan=${card}&cvc=[redacted card code]`,
  );
  expect(redactSecrets("4111111111111111 DE89370400440532013000")).toBe(`${card} [redacted IBAN]`);
});

test("finds a card that is a number of JSON", () => {
  expect(redactJson({ pan: 4111111111111111, at: 1764002132000, price: 4.5 })).toEqual({
    pan: "[redacted card number]",
    at: 1764002132000,
    price: 4.5,
  });
  const event = { type: "tool_call_requested", id: "1", name: "pay" } as const;
  expect(redactEvent({ ...event, args: { pan: [4111111111111111] } })).toEqual({
    ...event,
    args: { pan: ["[redacted card number]"] },
  });
});

test.each([
  "order 4111111111111112",
  "order 4111 1111 1111 1112",
  "ticket 1234567890123452",
  "id 9111111111111111",
  "at 1764002132000, 1764002132000000, 20261124163532",
  "sha a4111111111111111 and 4111111111111111f",
  "0.4111111111111111 and 4111111111111111.5",
  "54111111111111111",
  "411111111111111141111111111111114111111111111111",
  "550e8400-e29b-4111-1111-111111111111",
  "4111  1111  1111  1111",
  "4111 1111-1111 1111",
  "DE89370400440532013001",
  "DE8937040044053201300",
  "DE893704004405320130000",
  "ZZ89370400440532013000",
  "XDE89370400440532013000",
  "de893704",
  "+49 4111 111 111 1111",
])("leaves alone: %s", (text) => {
  expect(redactSecrets(text)).toBe(text);
});

test("leaves alone every text that only looks like a credential", () => {
  const changed = [...LOOKALIKES, ...HARMLESS].filter((text) =>
    /redacted (?:card|IBAN)/.test(redactSecrets(text)),
  );
  expect(changed).toEqual([]);
});

test("redacting twice is redacting once", () => {
  const once = redactSecrets([...CARDS, ...IBANS].join("\n"));
  expect(once.match(/\[redacted/g)).toHaveLength(CARDS.length + IBANS.length);
  expect(redactSecrets(once)).toBe(once);
});

test("cards and accounts stay until someone asks for their redaction, and any other wish is refused", () => {
  redactPayments(false);
  const text = [...CARDS, ...IBANS].join("\n");
  expect(redactSecrets(text)).toBe(text);
  expect(() => redactPayments("no" as unknown as boolean)).toThrow("true or false");
});
