import { expect, test } from "vitest";
import { FairShare } from "./fair-share.ts";

/** The pieces that each holder gets who asks for one after the other, until nobody gets more. */
function dividedAmong(max: number, holders: readonly (string | undefined)[]): readonly number[] {
  const share = new FairShare(max);
  let took = true;
  while (took) {
    took = false;
    for (const holder of holders) {
      if (share.lack(holder)) continue;
      share.add(holder, 1);
      took = true;
    }
  }
  return holders.map((holder) => share.heldBy(holder));
}

test.each([
  { max: 512, users: ["ada"], each: [256] },
  { max: 512, users: ["ada", "bob"], each: [171, 171] },
  { max: 4, users: ["ada", "bob"], each: [2, 1] },
  { max: 1, users: ["ada", "bob"], each: [1, 0] },
  { max: 512, users: [undefined], each: [512] },
])("of $max, $users get $each", ({ max, users, each }) => {
  expect(dividedAmong(max, users)).toEqual(each);
});

test("a user who comes later finds something free, whatever those before took", () => {
  const share = new FairShare(512);
  for (let index = 0; index < 8; index += 1) {
    const user = `user ${index}`;
    expect(share.lack(user)).toBeUndefined();
    while (!share.lack(user)) share.add(user, 1);
    expect(share.lack(user)).toBe("share");
  }
});

test("what is given back can be taken again", () => {
  const share = new FairShare(100);
  share.add("ada", 50);
  expect(share.lack("ada", 1)).toBe("share");
  share.add("ada", -50);
  expect([share.lack("ada", 50), share.heldBy("ada")]).toEqual([undefined, 0]);
});
