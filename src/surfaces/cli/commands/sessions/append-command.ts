import { type Command, Option } from "commander";
import { AUTHORS, type Author } from "../../../../core/event.ts";
import { given } from "../../../../core/fields.ts";
import type { Message } from "../../../../core/message.ts";
import { messagesAppended } from "../../../../core/results.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { plural } from "../../render/amounts.ts";
import { readJsonLines } from "../../terminal/input-file.ts";
import { printJson } from "../../terminal/print.ts";
import { changingCommand, withSession } from "../find-session.ts";

interface AppendFlags {
  readonly messages: string;
  readonly author?: Author;
  readonly speaker?: string;
  readonly time?: string;
  readonly key?: string;
  readonly json?: true;
}

/** `rkat sessions append`. */
export function appendCommand(sessions: Command, context: CliContext): void {
  const { terminal } = context;
  const append = changingCommand(sessions, "append", "add messages without running a turn")
    .requiredOption("--messages <file>", "one message per line (JSON), - for stdin")
    .option("--key <text>", "a name for this batch; a retry with the same key adds nothing")
    .addOption(
      new Option(
        "--author <who>",
        "who wrote the user messages; only a user's teach the project (default: file)",
      ).choices(AUTHORS),
    )
    .option("--speaker <name>", "the name of the person who wrote them")
    .option("--time <time>", "when they were written (ISO 8601)")
    .option("--json", "for scripts")
    .action(async (name: string, flags: AppendFlags) => {
      const messages = await readMessages(flags.messages, context);
      const { key, speaker, time, author = speaker === undefined ? "file" : undefined } = flags;
      const origin = given({ author, speaker, time });
      await withSession(context, append, name, async (service, sessionId) => {
        const done = await service.appendMessages({
          sessionId,
          messages,
          origin,
          ...given({ key }),
        });
        if (flags.json) return await printJson(terminal.stdout, toWire(messagesAppended, done));
        const added = plural(done.added, "message");
        const text =
          done.added > 0 ? `Added ${added} to ${sessionId}.` : "These messages were added before.";
        await terminal.stderr.write(`${text}\n`);
      });
    });
}

/** The service checks the messages. */
export function readMessages(file: string, { terminal }: CliContext): Promise<Message[]> {
  return Array.fromAsync(readJsonLines(file, terminal, (json) => ({ value: json as Message })));
}
