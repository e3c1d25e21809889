import type { EventEnvelope, SessionEvent } from "../../core/event.ts";
import type { KnowledgeEntry } from "../../core/knowledge.ts";
import type { SessionService } from "../../core/session-service.ts";
import type { CliContext } from "../cli-context.ts";
import { oneLine } from "../render/printable.ts";

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
