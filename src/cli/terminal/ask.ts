import { SessionError } from "../../core/errors.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Asks a yes-or-no question. Anything but a yes is a no.
 *
 * @param action the effect of a yes, as a script would read it: "forget these 10 entries".
 * @throws SessionError `INVALID_PARAMS` when stdin is not a terminal.
 */
export async function confirm(action: string, { stdin, stderr }: Terminal): Promise<boolean> {
  requireTerminal(stdin, `Pass --yes to ${action}.`);
  await stderr.write(`${action.charAt(0).toUpperCase()}${action.slice(1)}? [y/N] `);
  for await (const line of stdin) return /^\s*y(es)?\s*$/i.test(Buffer.from(line).toString());
  return false;
}

export const PICK_QUESTION = "Forget which? Numbers such as 1,3-5, all, or Enter for none › ";

/**
 * Lets the user pick from a numbered list. Asks again until the answer is one.
 *
 * @returns positions from 0.
 * @throws SessionError `INVALID_PARAMS` when stdin is not a terminal. `otherwise` says what to do then.
 */
export async function pick(
  count: number,
  otherwise: string,
  { stdin, stderr }: Terminal,
): Promise<readonly number[]> {
  requireTerminal(stdin, otherwise);
  await stderr.write(PICK_QUESTION);
  for await (const line of stdin) {
    const picked = pickedIn(Buffer.from(line).toString(), count);
    if (picked) return picked;
    await stderr.write(notPicked(count) + PICK_QUESTION);
  }
  return [];
}

export function notPicked(count: number): string {
  return `Type numbers from 1 to ${count}, with commas or as 2-4.\n`;
}

/** The positions that an answer names, from 0; `undefined` when it is not an answer. */
export function pickedIn(answer: string, count: number): readonly number[] | undefined {
  if (answer.trim() === "") return [];
  const all = Array.from({ length: count }, (_, position) => position);
  if (/^\s*all\s*$/i.test(answer)) return all;
  const picked = new Set<number>();
  for (const part of answer.trim().split(/[\s,]+/)) {
    const [, first, last = first] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (!(1 <= from && from <= to && to <= count)) return undefined;
    for (let number = from; number <= to; number += 1) picked.add(number - 1);
  }
  return all.filter((position) => picked.has(position));
}

function requireTerminal(stdin: Terminal["stdin"], otherwise: string): void {
  if (stdin.isTerminal) return;
  throw new SessionError("INVALID_PARAMS", {
    message: "Cannot ask: stdin is not a terminal.",
    hint: otherwise,
  });
}
