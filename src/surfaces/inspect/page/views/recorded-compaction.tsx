import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Fate } from "../../../../core/operations/history.ts";
import { amount, type LinkedPart, LinkedWords, many } from "../parts.tsx";
import { type LeftMessage, leftBy, type RecordedCompaction } from "../recorded-compactions.ts";
import { hrefOf } from "../route.ts";
import type { SessionLog } from "../session-log.ts";
import type { ViewProps } from "../source.ts";
import { Before } from "./compaction-before.tsx";
import { FATES } from "./message-trace.tsx";
import type { SourceOf } from "./sources.tsx";

/** The agent had no memory: what its summary does not have was gone for it, and is here. */
const HERE: Readonly<Record<Fate, string>> = {
  ...FATES,
  quoted: "Its summary has all of it",
  named: "Its summary has names of it",
  in_memory: "Dropped; memory finds it here",
  in_log: "Dropped; only the log has it",
};

/** The view of a compaction by another agent: what it dropped. */
export function Recorded({
  source,
  about,
  log,
  session,
  compaction,
}: ViewProps & {
  readonly log: SessionLog;
  readonly session: string;
  readonly compaction: RecordedCompaction;
}) {
  const [inSummary, setInSummary] = useState<number>();
  const messages = useMemo(() => leftBy(compaction), [compaction]);
  const tokens = messages.reduce((sum, message) => sum + message.tokens, 0);
  const counted = (...fates: readonly Fate[]) =>
    messages.filter(({ fate }) => fates.includes(fate)).length;
  const summary = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (inSummary !== undefined)
      summary.current?.querySelector("mark")?.scrollIntoView({ block: "center" });
  }, [inSummary]);
  return (
    <div class="beside">
      <Before
        source={source}
        about={about}
        last={log.seq}
        title={`Before: about ${amount(tokens)} tokens`}
        messages={messages}
        fates={HERE}
        session={session}
        inSummary={inSummary}
        onSeek={setInSummary}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard */}
      <section class="after" tabIndex={0} aria-labelledby="after">
        <h2 id="after">After: the agent's own summary</h2>
        <p class="quiet">
          The agent that had this session compacted it here. Its transcript has the summary, and not
          which messages it kept beside it.
        </p>
        <dl class="facts-list">
          <dt>Messages</dt>
          <dd>
            {amount(messages.length)}: the summary has something of{" "}
            {amount(counted("quoted", "named"))}
          </dd>
          <dt>In memory here</dt>
          <dd>{many(counted("in_memory"), "message")} that it has nothing of</dd>
          <dt>In the log here</dt>
          <dd>{many(counted("in_log"), "message")}, such as outputs of tools</dd>
        </dl>
        <h3>The summary</h3>
        {compaction.summary === "" ? (
          <p class="empty">The transcript does not have its words.</p>
        ) : (
          <div class="card" ref={summary}>
            <SummaryWords
              text={compaction.summary}
              left={messages}
              session={session}
              marked={inSummary}
            />
          </div>
        )}
      </section>
    </div>
  );
}

/** A summary, whose names and quotations lead to the messages that they are of. */
export function SummaryWords({
  text,
  left,
  earlier = [],
  session,
  marked,
}: {
  readonly text: string;
  /** The messages that left when it was written. */
  readonly left: readonly LeftMessage[];
  /** The messages that left with the summaries before it. */
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
 * The traces of messages in a summary: their names, and the start of their words. Those that left now come first, then those
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
