import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { textWeight } from "./text-weight.ts";

/** Texts, and the tokens that two tokenizers of OpenAI's, o200k and cl100k, make of them. */
const COUNTED: readonly (readonly [kind: string, newer: number, older: number, text: string])[] = [
  [
    "English",
    40,
    40,
    "The nightly import into the warehouse has failed since Tuesday, and nobody has looked at the queue. Could you find out which customers are affected, and write down what you would change before you change anything?",
  ],
  [
    "code",
    42,
    42,
    "export function sum(values: readonly number[]): number {\n  let total = 0;\n  for (const value of values) total += value;\n  return total / Math.max(1, values.length);\n}\n",
  ],
  [
    "JSON",
    64,
    62,
    '{"id":"ord_1042","customer":{"name":"Northwind","vat":"NL812334B01"},"lines":[{"sku":"A-113","qty":4,"price":12.5},{"sku":"B-207","qty":1,"price":99.95}],"paid":true}',
  ],
  [
    "log",
    96,
    96,
    "2026-11-22T05:12:44.120Z INFO [worker-3] request id=9f3a01bc77d2 path=/api/v1/items/4711 status=200 took 37ms\n2026-11-22T05:12:44.377Z WARN [worker-1] request id=01bd8823aa90 path=/api/v1/items/8 status=503 took 5012ms",
  ],
  [
    "UUIDs",
    93,
    93,
    "3f2b8c1e-9d47-4a60-b1c5-7e8f90a1b2c3\n0c9d8e7f-6a5b-4c3d-9e1f-a2b3c4d5e6f7\n8a7b6c5d-4e3f-4210-8fed-cba987654321",
  ],
  [
    "hexadecimal",
    78,
    78,
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  ],
  [
    "base64",
    104,
    116,
    "kZ3vQ8yT1mXoR7pLw2NfJ6sUeHbGd9aCq4VtWxYi0EzKjMhSBnPrFgAuDlOc5IQ+R7xk2Vd8sLq9TfWm3ZyNo1pGhJbKeUuCaXi6Et0rQwMvBz4SgPjAnHdYlFcO5I==",
  ],
  [
    "Russian",
    43,
    69,
    "Ночной импорт в хранилище падает со вторника, и никто не посмотрел на очередь. Выясни, каких клиентов это затронуло, и запиши, что ты изменишь.",
  ],
  [
    "Chinese",
    42,
    55,
    "从星期二开始,夜间导入仓库一直失败,没有人查看队列。请查明哪些客户受到影响,并在更改之前写下你要更改的内容。",
  ],
  [
    "Japanese",
    39,
    59,
    "火曜日から夜間の取り込みが失敗していますが、誰もキューを確認していません。影響を受けた顧客を調べてください。",
  ],
  [
    "Korean",
    34,
    64,
    "화요일부터 야간 가져오기가 실패하고 있지만 아무도 대기열을 확인하지 않았습니다. 어떤 고객이 영향을 받았는지 알아봐 주세요.",
  ],
  [
    "German",
    30,
    37,
    "Der nächtliche Import scheitert seit Dienstag, und niemand hat nach der Warteschlange gesehen. Finde heraus, welche Kunden betroffen sind.",
  ],
];

for (const [kind, newer, older, text] of COUNTED) {
  test(`${kind}: between the counts of two tokenizers, give or take a third`, () => {
    const tokens = textWeight(text) / 4;
    expect(tokens).toBeGreaterThan(Math.min(newer, older) * 0.75);
    expect(tokens).toBeLessThan(Math.max(newer, older) * 1.34);
  });
}

test("plain English weighs its bytes, as the specification counts them", () => {
  const text = "the build went through and the tests of the second module fail again ".repeat(20);
  expect(Math.abs(textWeight(text) - text.length)).toBeLessThan(text.length * 0.02);
});

test("no character weighs more than a token, and the longer text never less than nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 400 }), (text) => {
      expect(textWeight(text)).toBeGreaterThanOrEqual(text === "" ? 0 : 1);
      expect(textWeight(text)).toBeLessThanOrEqual(4 * text.length);
    }),
  );
});
