import { expect, test } from "vitest";
import { pick, pickedIn } from "./ask.ts";
import type { Terminal } from "./terminal.ts";

test.each([
  ["", []],
  ["1", [0]],
  ["1,3-5", [0, 2, 3, 4]],
  [" 5 1, 5 ", [0, 4]],
  ["all", [0, 1, 2, 3, 4]],
])("%j picks %j of five", (answer, expected) => {
  expect(pickedIn(answer, 5)).toEqual(expected);
});

test.each(["0", "6", "not 2", "4-2", "1-", "-1", "y", "1.5", "99999999"])(
  "%j is asked again",
  (answer) => {
    expect(pickedIn(answer, 5)).toBeUndefined();
  },
);

test("the list is asked about until the answer is one", async () => {
  const answers = ["the second", "7", "2"];
  const said: string[] = [];
  const terminal = {
    stdin: {
      isTerminal: true,
      async *[Symbol.asyncIterator]() {
        for (const answer of answers) yield Buffer.from(`${answer}\n`);
      },
    },
    stderr: { write: async (text: string) => void said.push(text) },
  } as unknown as Terminal;
  expect(await pick(3, "Give ids.", terminal)).toEqual([1]);
  expect(said.join("").match(/Forget which\?/g)).toHaveLength(3);
  expect(said.join("").match(/Type numbers from 1 to 3/g)).toHaveLength(2);
});
