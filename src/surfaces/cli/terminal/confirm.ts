import { SessionError } from "../../../core/errors.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Whether somebody at the terminal says yes; anything but a yes is a no.
 *
 * @throws SessionError `INVALID_PARAMS` when nobody can be asked.
 */
export async function confirm(question: string, { stdin, stderr }: Terminal): Promise<boolean> {
  if (!stdin.isTerminal) {
    throw new SessionError("INVALID_PARAMS", {
      detail: `Nobody is there to be asked: ${question}`,
      hint: "Say it with --yes.",
    });
  }
  await stderr.write(`${question} [y/N] `);
  for await (const chunk of stdin) return /^\s*y(es)?\s*$/i.test(Buffer.from(chunk).toString());
  return false;
}
