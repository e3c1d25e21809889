import type { Workspace } from "../../../config/workspace.ts";
import { hasCapability } from "../../../config/workspace.ts";
import { ERRORS, SessionError } from "../../../core/errors.ts";
import type { EventEnvelope } from "../../../core/event.ts";
import type { ResumeTurn } from "../../../core/requests.ts";
import { turnResult } from "../../../core/results.ts";
import type { TurnEnd, TurnOptions, TurnResult } from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../cli-context.ts";
import { printable } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { styleFor } from "../render/style.ts";
import { printEnd, printEvent } from "../terminal/event-lines.ts";
import { printJson } from "../terminal/print-json.ts";
import { TurnView } from "../terminal/turn-view.ts";
import type { TurnFlags } from "./turn-flags.ts";

/** Runs one turn, shows it, and says how it ended. Ctrl-C interrupts it. */
export async function runTurn<Request extends ResumeTurn>(
  context: CliContext,
  { config }: Pick<Workspace, "config">,
  flags: TurnFlags,
  request: Request,
  run: (request: Request, options: TurnOptions) => Promise<TurnResult>,
): Promise<void> {
  const { terminal } = context;
  const isKept = hasCapability(config, "session-store");
  const stream = flags.output === "text" && (flags.stream ?? terminal.stdout.isTerminal);
  const view = new TurnView(terminal, { stream, shown: flags.verbose ? renderEvent : () => "" });
  const onEvent = (event: EventEnvelope) => {
    if (flags.output === "jsonl") printEvent(terminal.stdout, event);
    view.onEvent(event);
  };
  view.waiting();
  const result = await terminal
    .interruptible((signal) => run(request, { signal, onEvent }))
    .catch((error: unknown) => {
      throw isKept ? withWayBack(error, request.sessionId) : error;
    })
    .finally(() => view.end());

  if (flags.output === "json") await printJson(terminal.stdout, toWire(turnResult, result));
  else if (flags.output === "jsonl") {
    await printEnd(terminal.stdout, "result", toWire(turnResult, result));
  } else {
    if (!stream && result.text !== "") {
      await terminal.stdout.write(`${shown(result.text, terminal.stdout.isTerminal)}\n`);
    }
    await terminal.stderr.write(styleFor(terminal.stderr, terminal.env).dim(footer(result)));
  }
  const note = NOTES[result.stopReason];
  const way = isKept ? " `rkat continue` goes on." : "";
  if (note) await terminal.stderr.write(`note: ${note}${way}\n`);
  if (result.stopReason === "approval_required") {
    await terminal.stderr.write(WAITING_NOTE);
    context.exitCode = ERRORS.APPROVAL_REQUIRED.exitCode;
  }
  if (result.stopReason === "budget_exhausted") {
    context.exitCode = ERRORS.BUDGET_EXHAUSTED.exitCode;
  }
}

const WAITING_NOTE =
  "note: a tool call waits for approval. `rkat approvals list` shows it; `rkat approvals allow` or `rkat approvals deny --reason …` answers it, and `rkat continue` goes on.\n";

/** What a person should know of an answer that may be cut short. */
const NOTES: Partial<Record<TurnEnd, string>> = {
  max_tokens: "the answer is cut short, at the output tokens of one call.",
  content_filter: "the provider's filter cut the answer short.",
  turn_limit: "the run reached its limit of model calls.",
  budget_exhausted: "the budget of the run is used up.",
};

function footer({ sessionId, turns, usage }: TurnResult): string {
  const tokens = `${usage.input_tokens} in / ${usage.output_tokens} out`;
  return `[Session: ${sessionId.slice(0, 8)} | Turns: ${turns} | Tokens: ${tokens}]\n`;
}

/** An interrupted turn is no failure of anybody's: say how to go on. */
function withWayBack(error: unknown, sessionId: string): unknown {
  if (!SessionError.is(error) || error.code !== "TURN_INTERRUPTED") return error;
  const hint = `The session is kept; go on with \`rkat continue\` or \`rkat resume ${sessionId} "…"\`.`;
  return new SessionError("TURN_INTERRUPTED", { hint, cause: error });
}

function shown(text: string, onTerminal: boolean): string {
  return onTerminal ? printable(text) : text;
}
