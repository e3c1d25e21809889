import type { Command } from "commander";
import { SessionError } from "../../../../core/errors.ts";
import type { Pins } from "../../../../core/pins.ts";
import { pins as pinsResult } from "../../../../core/results.ts";
import { toWire } from "../../../../core/wire.ts";
import type { CliContext } from "../../cli-context.ts";
import { renderPins } from "../../render/render-pins.ts";
import { styleFor } from "../../render/style.ts";
import { printJson } from "../../terminal/print-json.ts";
import { sessionCommand, withSession } from "./with-session.ts";

const MESSAGE = "its position, as `sessions show` counts from 0, or its id as @id";

/** `rkat sessions pin`, `unpin` and `pins`. */
export function sessionsPinsCommand(sessions: Command, context: CliContext): void {
  const pins = sessionCommand(sessions, "pins", "the pinned messages, and what they take")
    .option("--json", "for scripts")
    .action((name: string, { json }: { json?: true }) =>
      withSession(context, pins, name, async (service, sessionId) =>
        show(context, await service.pins({ sessionId }), json),
      ),
    );
  for (const { does, description } of CHANGES) {
    const command = sessionCommand(sessions, does, description)
      .argument("<message>", MESSAGE)
      .option("--json", "for scripts")
      .action((name: string, message: string, { json }: { json?: true }) =>
        withSession(
          context,
          command,
          name,
          async (service, sessionId) =>
            show(context, await service[does]({ sessionId, ...namedMessage(message) }), json),
          { includeArchived: false },
        ),
      );
  }
}

const CHANGES = [
  { does: "pin", description: "keep a message through every compaction" },
  { does: "unpin", description: "let the next compaction have it" },
] as const;

/** A message as somebody names it: `3` is a position, `@17` an id. */
export function namedMessage(
  name: string,
): { readonly message: number } | { readonly position: number } {
  const [, at, digits] = /^(@?)(\d{1,15})$/.exec(name) ?? [];
  if (digits === undefined) {
    throw new SessionError("INVALID_PARAMS", {
      detail: `"${name}" is neither a position such as 3 nor an id such as @17.`,
    });
  }
  return at === "@" ? { message: Number(digits) } : { position: Number(digits) };
}

async function show({ terminal }: CliContext, pins: Pins, json: true | undefined): Promise<void> {
  if (json) return await printJson(terminal.stdout, toWire(pinsResult, pins));
  await terminal.stdout.write(renderPins(pins, styleFor(terminal.stdout, terminal.env)));
}
