import { chownSync, existsSync, mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/obey.ts";
import { inWorkFolder } from "./new-file.ts";

/** No process has it. */
const DEAD = 2 ** 30;

async function withLeftover() {
  const folder = await temporaryFolder();
  const file = join(folder, "shop.backup");
  const leftover = join(folder, `.shop.backup.${hostname()}.${DEAD}.0194.unfinished`);
  mkdirSync(leftover);
  return { file, leftover };
}

test("a folder that a killed process left is removed by the next work beside the same file", async () => {
  const { file, leftover } = await withLeftover();
  expect(await inWorkFolder(file, async (own) => existsSync(own))).toBe(true);
  expect(existsSync(leftover)).toBe(false);
});

test.skipIf(process.getuid?.() !== 0)(
  "the folder of another user stays, and stops no work",
  { meta: { skipReason: "only root can give a folder away" } },
  async () => {
    const { file, leftover } = await withLeftover();
    chownSync(leftover, 54_321, 54_321);
    expect(await inWorkFolder(file, async () => "done")).toBe("done");
    expect(existsSync(leftover)).toBe(true);
  },
);
