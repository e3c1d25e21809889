import fc from "fast-check";
import { ClaudeLines } from "./claude-lines.ts";

const ID = "0f3c2b1a-1111-4222-8333-444455556666";

/** What may happen next in a session of Claude Code. */
type Step =
  | { readonly does: "ask" | "queue" | "inject" | "compact" | "sidechain" | "note" }
  | { readonly does: "answer"; readonly calls: number; readonly thinks: boolean }
  /** The user edits an earlier prompt, so that a new branch begins above it. */
  | { readonly does: "edit" | "repeat"; readonly back: number };

/** A random session, with what a person typed in it and what the program put in. */
export interface ClaudeTalk {
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly typed: readonly string[];
  readonly injected: readonly string[];
  /** Whether a prompt was edited. Then what was typed may be on a branch that was left. */
  readonly hasBranches: boolean;
}

const plain: readonly fc.WeightedArbitrary<Step>[] = [
  { weight: 6, arbitrary: fc.constant({ does: "ask" }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant("answer" as const),
      calls: fc.nat(3),
      thinks: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constantFrom("queue", "inject", "compact", "sidechain", "note"),
    }),
  },
];

const branching: readonly fc.WeightedArbitrary<Step>[] = [
  ...plain,
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constantFrom("edit", "repeat"), back: fc.nat(9) }),
  },
];

export function claudeTalks({
  branches,
}: {
  readonly branches: boolean;
}): fc.Arbitrary<ClaudeTalk> {
  const steps = branches ? fc.oneof(...branching) : fc.oneof(...plain);
  return fc.array(steps, { minLength: 1, maxLength: 40 }).map(written);
}

function written(steps: readonly Step[]): ClaudeTalk {
  const lines = new ClaudeLines(ID);
  const typed: string[] = [];
  const injected: string[] = [];
  /** Above each prompt. */
  const above: (string | null)[] = [];
  let hasBranches = false;
  const next = (kind: string) => `${kind} ${typed.length + injected.length}.`;
  const say = (text: string) => {
    typed.push(text);
    return text;
  };
  const put = (text: string) => {
    injected.push(text);
    return text;
  };
  for (const [number, step] of [{ does: "ask" as const }, ...steps].entries()) {
    const id = `msg_${number}`;
    switch (step.does) {
      case "ask":
        above.push(lines.last || null);
        lines.user(say(next("Prompt")));
        break;
      case "answer":
        answer(lines, id, step);
        break;
      case "queue":
        lines.add("attachment", {
          attachment: { type: "queued_command", prompt: say(next("Queued")) },
        });
        break;
      case "inject":
        lines.user(`<system-reminder>${put(next("Reminder"))}</system-reminder>`, { isMeta: true });
        break;
      case "compact": {
        const logicalParentUuid = lines.last;
        lines.goTo(null).add("system", { subtype: "compact_boundary", logicalParentUuid });
        lines.user(put(next("Summary")), { isCompactSummary: true });
        break;
      }
      case "sidechain": {
        const { last } = lines;
        lines.goTo(null).user(put(next("Task")), { isSidechain: true });
        lines.goTo(last);
        break;
      }
      case "note":
        lines.add("system", { subtype: "turn_duration" });
        break;
      case "edit":
        hasBranches = true;
        lines.goTo(above[Math.max(0, above.length - 1 - step.back)] ?? null);
        lines.user(say(next("Edited")));
        break;
      case "repeat": {
        // Some versions write a line twice.
        const again = lines.lines.at(-1 - (step.back % lines.lines.length));
        if (again) lines.lines.push({ ...again });
        break;
      }
    }
  }
  return { lines: lines.lines, typed, injected, hasBranches };
}

/** An answer with parallel calls: a result may be there before the next call is. */
function answer(
  lines: ClaudeLines,
  id: string,
  { calls, thinks }: { readonly calls: number; readonly thinks: boolean },
): void {
  if (thinks) lines.answer(id, { type: "thinking", thinking: `Hmm ${id}`, signature: "x" });
  lines.text(id, `Text of ${id}`);
  for (let call = 0; call < calls; call += 1) {
    lines.call(id, `toolu_${id}_${call}`);
    const caller = lines.last;
    lines.result(`toolu_${id}_${call}`, `out ${id} ${call}`);
    if (call + 1 < calls) lines.goTo(caller);
  }
}
