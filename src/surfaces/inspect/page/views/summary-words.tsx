import { type LinkedPart, LinkedWords } from "../parts.tsx";
import type { LeftMessage } from "../recorded-compactions.ts";
import { hrefOf } from "../route.ts";
import type { SourceOf } from "./sources.tsx";

/** A summary, whose names and quotations lead to the messages that they are of. */
export function SummaryWords({
  text,
  left,
  earlier = [],
  session,
  marked,
}: {
  readonly text: string;
  /** What left when it was written. */
  readonly left: readonly LeftMessage[];
  /** What left with the summaries before it. */
  readonly earlier?: readonly SourceOf[];
  readonly session: string;
  /** The message whose parts are marked. */
  readonly marked: number | undefined;
}) {
  return <LinkedWords text={text} parts={partsOf(left, earlier, session, marked)} />;
}

/** Characters of a quotation that are looked for. A long one may be broken into lines. */
const QUOTED = 60;

/**
 * What a summary has of messages: their names, and the start of their words. Those that left now come first, then those
 * of the summaries before.
 */
function partsOf(
  left: readonly LeftMessage[],
  earlier: readonly SourceOf[],
  session: string,
  marked: number | undefined,
): readonly LinkedPart[] {
  const ofMessages = [
    ...left.map(({ names, ...message }) => ({ ...message, names, session_id: session })),
    ...earlier.map((message) => ({ ...message, names: [] })),
  ];
  const parts = ofMessages.flatMap(({ id, session_id, role, text, names }) => {
    const [head = ""] = text.split(/(?<=[.?!…])\s/);
    const who = role === "assistant" ? "the model" : `the ${role}`;
    return [...names, head.slice(0, QUOTED).trim()].map((part) => ({
      text: part,
      href: hrefOf(session_id, "transcript", id),
      title: `Of ${who}, event ${id}`,
      isMarked: id === marked && session_id === session,
    }));
  });
  return [...parts.filter(({ isMarked }) => isMarked), ...parts];
}
