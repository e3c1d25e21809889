import type { Config } from "../../../config/config.ts";
import { hasCapability } from "../../../config/workspace.ts";
import { ERRORS, SessionError } from "../../../core/errors.ts";
import type { EventEnvelope } from "../../../core/event.ts";
import type { ResumeTurn } from "../../../core/requests.ts";
import { turnResult } from "../../../core/results.ts";
import type {
  SessionService,
  TurnEnd,
  TurnOptions,
  TurnResult,
} from "../../../core/session-service.ts";
import { toWire } from "../../../core/wire.ts";
import type { CliContext } from "../cli-context.ts";
import { printable } from "../render/printable.ts";
import { renderEvent } from "../render/render-event.ts";
import { shortId } from "../render/render-sessions.ts";
import { styleFor } from "../render/style.ts";
import { LearnedRules } from "../terminal/learned-rules.ts";
import { printEnd, printEvent, printJson } from "../terminal/print.ts";
import { TurnView } from "../terminal/turn-view.ts";
import type { TurnFlags } from "./run-flags.ts";

/** Runs one turn and shows how it goes and how it ended. Ctrl-C interrupts it. */
export async function showTurn<Request extends ResumeTurn>(
  context: CliContext,
  config: Config,
  flags: TurnFlags,
  request: Request,
  service: Pick<SessionService, "listKnowledge">,
  run: (request: Request, options: TurnOptions) => Promise<TurnResult>,
): Promise<void> {
  const { terminal, rkat } = context;
  const isKept = hasCapability(config, "session-store");
  const stream = flags.output === "text" && (flags.stream ?? terminal.stdout.isTerminal);
  const view = new TurnView(terminal, { stream, shown: flags.verbose ? renderEvent : () => "" });
  const learned = new LearnedRules(request.sessionId);
  const onEvent = (event: EventEnvelope) => {
    learned.onEvent(event);
    if (flags.output === "jsonl") printEvent(terminal.stdout, event);
    view.onEvent(event);
  };
  view.waiting();
  const result = await terminal
    .interruptible((signal) => run(request, { signal, onEvent }))
    .catch((error: unknown) => {
      throw isKept ? withHint(error, request.sessionId) : error;
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
  for (const line of await learned.notes(service)) await terminal.stderr.write(`${line}\n`);
  const note = NOTES[result.stopReason];
  const way = isKept ? ` To continue: \`${rkat} continue\`.` : "";
  if (note) await terminal.stderr.write(`note: ${note}${way}\n`);
  if (result.stopReason === "approval_required") {
    await terminal.stderr.write(waitingNote(rkat));
    context.exitCode = ERRORS.APPROVAL_REQUIRED.exitCode;
  }
  if (result.stopReason === "budget_exhausted") {
    context.exitCode = ERRORS.BUDGET_EXHAUSTED.exitCode;
  }
}

function waitingNote(rkat: string): string {
  return `note: a tool call waits for approval. See it with \`${rkat} approvals list\`, answer it with \`${rkat} approvals allow\` or \`${rkat} approvals deny --reason …\`, then continue with \`${rkat} continue\`. To run calls of a tool without approval: \`--allow TOOL\`.\n`;
}

/** Why an answer may be incomplete. */
const NOTES: Partial<Record<TurnEnd, string>> = {
  max_tokens: "the answer is incomplete: it reached the output tokens of one call.",
  content_filter: "the answer is incomplete: the provider's content filter stopped it.",
  turn_limit: "the run reached its limit of model calls.",
  budget_exhausted: "the budget of the run is used up.",
};

function footer({ sessionId, turns, usage }: TurnResult): string {
  const tokens = `${usage.inputTokens} in / ${usage.outputTokens} out`;
  return `[Session: ${shortId(sessionId)} | Turns: ${turns} | Tokens: ${tokens}]\n`;
}

/** An interrupted turn can be continued: the hint says how. */
function withHint(error: unknown, sessionId: string): unknown {
  if (!SessionError.is(error) || error.code !== "TURN_INTERRUPTED") return error;
  const hint = `The session is kept. Continue with \`rkat continue\` or \`rkat resume ${sessionId} "…"\`.`;
  return new SessionError("TURN_INTERRUPTED", { hint, cause: error });
}

function shown(text: string, onTerminal: boolean): string {
  return onTerminal ? printable(text) : text;
}
