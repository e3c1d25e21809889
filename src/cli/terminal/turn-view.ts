import type { EventEnvelope, SessionEvent } from "../../core/event.ts";
import type { KnowledgeEntry } from "../../core/knowledge.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine, printable } from "../render/printable.ts";
import { type Style, styleFor } from "../render/style.ts";
import { ProgressLine } from "./progress-line.ts";
import type { Terminal } from "./terminal.ts";

/** Shows a running turn: the answer on stdout as it arrives, everything else on stderr. */
export class TurnView {
  readonly #terminal: Terminal;
  readonly #stream: boolean;
  readonly #shown: (event: SessionEvent) => string;
  readonly #quiet: boolean;
  readonly #progress: ProgressLine;
  readonly #style: Style;
  /** Whether the answer so far ends in the middle of a line. */
  #midLine = false;

  constructor(
    terminal: Terminal,
    options: {
      readonly stream: boolean;
      /** The lines to print for an event, besides the answer; empty for none. */
      readonly shown: (event: SessionEvent) => string;
      /** Whether the progress of the turn is not shown. Default false. */
      readonly quiet?: boolean;
    },
  ) {
    this.#terminal = terminal;
    this.#stream = options.stream;
    this.#shown = options.shown;
    this.#quiet = options.quiet ?? false;
    this.#progress = new ProgressLine(terminal.stderr);
    this.#style = styleFor(terminal.stderr, terminal.env);
  }

  readonly onEvent = ({ payload }: EventEnvelope): void => {
    if (payload.type === "text_delta") this.#answer(payload.delta);
    else if (!this.#endsAnswer(payload)) this.#chrome(payload);
  };

  waiting(): void {
    this.#progress.show("thinking");
  }

  /** Ends the line of the answer, and removes the progress line. */
  end(): void {
    this.#progress.clear();
    this.#breakLine();
  }

  #answer(delta: string): void {
    if (!this.#stream || delta === "") return;
    this.#progress.clear();
    void this.#terminal.stdout.write(this.#terminal.stdout.isTerminal ? printable(delta) : delta);
    this.#midLine = !delta.endsWith("\n");
  }

  #endsAnswer(event: SessionEvent): boolean {
    if (event.type !== "text_complete" || !this.#stream) return false;
    this.#breakLine();
    return true;
  }

  #chrome(event: SessionEvent): void {
    const line = this.#shown(event);
    // A question comes next on the terminal.
    const asks = event.type === "tool_approval_requested";
    if (line !== "" || asks || event.type === "retrying") this.end();
    if (line !== "") void this.#terminal.stderr.write(this.#style.dim(line));
    const now = doing(event);
    if (now !== undefined && !this.#quiet) {
      this.#progress.clear();
      this.#progress.show(now);
    }
  }

  #breakLine(): void {
    if (this.#midLine) void this.#terminal.stdout.write("\n");
    this.#midLine = false;
  }
}

/** The work between this event and the next, when it may take long. */
export function doing(event: SessionEvent): string | undefined {
  switch (event.type) {
    case "turn_started":
    case "tool_result_received":
      return "thinking";
    case "tool_execution_started":
      return `running ${event.name}`;
    case "compaction_started":
      return "compacting the history";
    case "retrying":
      return `the provider failed; trying again (${event.attempt} of ${event.max_attempts})`;
    default:
      return undefined;
  }
}

export const RULES_SEARCHED = 100;
const TEXT_SHOWN = 200;

/** Watches a turn for words that teach the project, and then tells the user which rules are new. */
export class LearnedRules {
  readonly #sessionId: string;
  /** `seq` of the first event that may have taught something. */
  #from: number | undefined;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  readonly onEvent = ({ seq, payload }: EventEnvelope): void => {
    if (mayTeach(payload)) this.#from ??= seq;
  };

  /** One line for each rule that the turn made, with the command that refuses it. */
  async notes(
    service: Pick<SessionService, "listKnowledge">,
    { rkat }: Pick<CliContext, "rkat">,
  ): Promise<readonly string[]> {
    const from = this.#from;
    if (from === undefined) return [];
    // The turn has succeeded. That nothing can be said of its rules must not make it fail.
    const rules = await service
      .listKnowledge({ kind: "rule", limit: RULES_SEARCHED })
      .catch(() => []);
    return rules
      .filter(({ count, restsOn = [] }) => {
        const isNew = count === 1;
        return (
          isNew &&
          restsOn.some(({ sessionId, seq = 0 }) => sessionId === this.#sessionId && seq >= from)
        );
      })
      .map((rule) => learnedNote(rule, rkat));
  }
}

/** Tells the user of a new rule, and how to refuse it. */
export function learnedNote(
  { id, content }: Pick<KnowledgeEntry, "id" | "content">,
  rkat: string,
): string {
  return `learned for new sessions: ${oneLine(content, TEXT_SHOWN)} To refuse it: ${rkat} knowledge forget ${id}`;
}

function mayTeach(event: SessionEvent): boolean {
  if (event.type === "run_started") {
    return event.instructions?.some(({ lasting }) => lasting) ?? false;
  }
  return (
    event.type === "tool_approval_resolved" && event.decision === "deny" && event.by === "user"
  );
}
