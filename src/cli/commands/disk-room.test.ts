import { expect, test } from "vitest";
import { roomProblem } from "./disk-room.ts";

const disk = (blocks: number, bavail: number) => () => ({ bsize: 4096, blocks, bavail });

test("a full disk is a problem, and one with room is none", () => {
  expect(roomProblem("/", disk(1000, 0))).toMatch(/^the disk has 0 \S+ left: .*Free some space$/);
  expect(roomProblem("/", disk(1e9, 1000))).toMatch(/^the disk has 4\.1 MB left/);
  expect(roomProblem("/", disk(1e9, 1e6))).toBeUndefined();
});

test("a file system that does not count its blocks is none either", () => {
  expect(roomProblem("/", disk(0, 0))).toBeUndefined();
});
