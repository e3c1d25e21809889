import type { Message } from "rkat";
import { summaryMessage } from "rkat";
import { expect, test } from "vitest";
import { openTasks } from "./open-requests.ts";

const ask = (task: number) => `Do it. Task ${task}: what about it?`;
const user = (content: string): Message => ({ role: "user", content });
const done = (task: number): Message => ({ role: "assistant", content: `Task ${task} is done.` });

test("a task is open until its answer is there", () => {
  expect([...openTasks([user(ask(1)), done(1), user(ask(2))])]).toEqual([2]);
});

test("what a summary says of a task counts, and what stands beside the user's words", () => {
  const heading =
    "\n\n[What the user said earlier, word for word, oldest first; answered where nothing else is said]";
  const words = `\n• ${ask(3)}\n• [not answered] ${ask(4)}\n• [worked on; changed a.ts] ${ask(5)}`;
  const told = summaryMessage(`${ask(1)}\n- [answered] ${ask(2)}${heading}${words}`);
  expect([...openTasks([told])]).toEqual([1, 4]);
  expect([...openTasks([told, done(1), done(4)])]).toEqual([]);
});

test("records of memory are quotes, and ask for nothing", () => {
  expect([...openTasks([user(`[Recalled from memory] …\n- user: ${ask(1)}`)])]).toEqual([]);
});
