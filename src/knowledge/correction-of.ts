import type { ToolApprovalRequested, ToolApprovalResolved } from "../core/event.ts";
import type { NewKnowledge } from "../core/knowledge.ts";
import { shapeTags } from "./call-shape.ts";
import { hashOf } from "./hash-of.ts";
import { oneLine } from "./one-line.ts";

const ARGS_MAX = 200;
const SAID_MAX = 500;

export interface Denial {
  readonly requested: Pick<ToolApprovalRequested, "name" | "args" | "goal">;
  readonly resolved: Pick<ToolApprovalResolved, "reason">;
  /** Which of the denials of an imported message it is. Such a denial is never merged with one that was made here. */
  readonly importedAs?: number;
  /** `seq` of the prompt after it that has the reason. The denial was counted before. */
  readonly explainedAt?: number;
  readonly sessionId: string;
  /** `seq` of the request and of the answer. */
  readonly from: number;
  readonly seq: number;
  /** ISO 8601. */
  readonly time: string;
}

/** The correction for a denial: the denied call, the reason and the user's goal. */
export function correctionOf({
  requested,
  resolved,
  sessionId,
  from,
  seq,
  time,
  importedAs,
  explainedAt,
}: Denial): NewKnowledge {
  const { name, args } = requested;
  const shown = oneLine(JSON.stringify(args) ?? "", ARGS_MAX);
  const reason = oneLine(resolved.reason ?? "", SAID_MAX);
  const goal = oneLine(requested.goal, SAID_MAX);
  const said = reason === "" ? "The user denied this." : `The user denied this: ${reason}`;
  const isImported = importedAs !== undefined;
  return {
    id: `correction:${sessionId}:${seq}${importedAs ? `:${importedAs}` : ""}`,
    kind: "correction",
    content: [
      `Attempted tool '${name}' with args: ${shown}`,
      said,
      ...(goal === "" ? [] : [`Goal: ${goal}`]),
    ].join("\n"),
    tags: ["correction", name, ...shapeTags(args)],
    origin: isImported ? "imported" : "user",
    sessionId,
    source: { from, to: explainedAt ?? seq },
    ...(explainedAt === undefined ? {} : { count: 0 }),
    time,
    tool: name,
    args: shown,
    ...(reason === "" ? {} : { reason }),
    ...(goal === "" ? {} : { goal }),
    keys: [
      hashOf(
        ...(isImported ? ["imported"] : []),
        "correction",
        name,
        args ?? null,
        reason.toLowerCase(),
      ),
    ],
  };
}
