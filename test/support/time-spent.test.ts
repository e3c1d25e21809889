import { expect, test } from "vitest";
import { TimeClock } from "./time-spent.ts";

function clockAt() {
  const now = { at: 0, computed: 0 };
  const pass = (ms: number, computed = 0) => {
    now.at += ms;
    now.computed += computed;
  };
  return { clock: new TimeClock(() => ({ ...now })), pass };
}

test("time that starts nothing is computing as far as the processor worked, and waiting otherwise", () => {
  const { clock, pass } = clockAt();
  pass(100, 30);
  expect(clock.spent()).toEqual({ servers: 0, processes: 0, computing: 30, waiting: 70 });
});

test("threads that compute side by side do not take more time than passed", () => {
  const { clock, pass } = clockAt();
  pass(100, 250);
  expect(clock.spent()).toEqual({ servers: 0, processes: 0, computing: 100, waiting: 0 });
});

test("starts that overlap count once, and the processes that a server consists of belong to its start", () => {
  const { clock, pass } = clockAt();
  const server = clock.start("servers");
  pass(10);
  const process = clock.start("processes");
  pass(20, 5);
  server();
  pass(40);
  const other = clock.start("processes");
  pass(80);
  process();
  process();
  pass(1);
  other();
  pass(2);
  expect(clock.spent()).toEqual({ servers: 30, processes: 121, computing: 0, waiting: 2 });
});
