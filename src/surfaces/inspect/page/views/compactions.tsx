import { useEffect, useRef, useState } from "preact/hooks";
import type { CompactionView, UndoOutcome } from "../../../../core/operations/history.ts";
import { urlPart } from "../../../../text/url-part.ts";
import { amount, Badge, clock, Failure, many, plain, short, useLoaded } from "../parts.tsx";
import { hrefOf } from "../route.ts";
import type { SessionLog, WindowChange } from "../session-log.ts";
import type { Source, ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { Before } from "./compaction-before.tsx";
import { FATES } from "./message-trace.tsx";
import { Recorded, SummaryWords } from "./recorded-compaction.tsx";
import { type SourceOf, Sources } from "./sources.tsx";

type View = Wire<CompactionView>;

interface SessionProps extends ViewProps {
  readonly log: SessionLog;
  readonly session: string;
  readonly onChanged: () => void;
}

/** The view of compactions: what each kept and dropped, those of another agent included. */
export function CompactionsView({
  seq,
  ...props
}: SessionProps & { readonly seq: number | undefined }) {
  const { log, session } = props;
  const all = [...log.changes, ...log.recorded.all].sort((one, other) => one.seq - other.seq);
  const chosen = all.find((one) => one.seq === seq) ?? all.at(-1);
  const picks = useRef<HTMLElement>(null);
  useEffect(() => {
    picks.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [chosen?.seq]);
  if (!chosen) return <p class="empty">This session was not compacted so far.</p>;
  return (
    <div class="compactions">
      <nav class="pick" aria-label="Compactions" ref={picks}>
        {all.map((one, at) => (
          <a
            key={one.seq}
            href={hrefOf(session, "compactions", one.seq)}
            aria-current={one === chosen ? "true" : undefined}
          >
            <strong>{at + 1}</strong> <span>{clock(one.time)}</span>{" "}
            <span class="quiet">
              {"event" in one ? (
                <>
                  −{short(one.event.tokens_before - one.event.tokens_after)}
                  <span class="unseen"> tokens</span>
                </>
              ) : (
                "imported"
              )}
            </span>
          </a>
        ))}
      </nav>
      {"event" in chosen ? (
        <Own key={chosen.seq} {...props} chosen={chosen} />
      ) : (
        <Recorded key={chosen.seq} {...props} compaction={chosen} />
      )}
    </div>
  );
}

function Own({
  source,
  about,
  log,
  session,
  onChanged,
  chosen,
}: SessionProps & { readonly chosen: WindowChange }) {
  const { value: view, error } = useLoaded(
    () => read(source, session, chosen.seq),
    [source, session, chosen.seq],
  );
  const [inSummary, setInSummary] = useState<number>();
  return (
    <div class="beside">
      <Before
        source={source}
        about={about}
        last={log.seq}
        title={`Before: ${amount(chosen.event.tokens_before)} tokens`}
        messages={view?.messages ?? []}
        fates={FATES}
        session={session}
        inSummary={inSummary}
        onSeek={setInSummary}
      >
        <Failure error={error} />
      </Before>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached with the keyboard */}
      <section class="after" tabIndex={0} aria-label="What it did">
        <UndoBar
          source={source}
          about={about}
          session={session}
          seq={chosen.seq}
          undoneBy={log.undone.get(chosen.seq)}
          onChanged={onChanged}
        />
        <After
          source={source}
          change={chosen}
          view={view}
          session={session}
          inSummary={inSummary}
        />
      </section>
    </div>
  );
}

/** Messages that one request asks for. */
const PAGE = 1000;

/** A compaction, with all messages before it. */
async function read(source: Source, session: string, event: number): Promise<View> {
  const path = `sessions/${urlPart(session)}/compaction`;
  const view = await source.get<View>(path, { event, limit: PAGE });
  const messages = [...view.messages];
  while (messages.length < view.message_count) {
    const offset = messages.length;
    const next = await source.get<View>(path, { event, limit: PAGE, offset });
    if (next.messages.length === 0) break;
    messages.push(...next.messages);
  }
  return { ...view, messages };
}

const WRITERS = { model: "a model", fallback: "rkat, without a model", none: "no one" } as const;

function After({
  source,
  change: { seq, event },
  view,
  session,
  inSummary,
}: Pick<ViewProps, "source"> & {
  readonly change: WindowChange;
  readonly view: View | undefined;
  readonly session: string;
  readonly inSummary: number | undefined;
}) {
  const [found, setFound] = useState<readonly SourceOf[]>([]);
  const summary = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (inSummary !== undefined)
      summary.current?.querySelector("mark")?.scrollIntoView({ block: "center" });
  }, [inSummary]);
  const { report, usage } = event;
  const anchors = report?.anchors;
  return (
    <section aria-labelledby="after">
      <h2 id="after">After: {amount(event.tokens_after)} tokens</h2>
      <dl class="facts-list">
        <dt>Messages</dt>
        <dd>
          {amount(event.messages_before)} → {amount(event.messages_after)};{" "}
          {amount(event.discarded_messages)} left
        </dd>
        <dt>Saved</dt>
        <dd>{amount(event.tokens_before - event.tokens_after)} tokens of each later request</dd>
        <dt>Cost</dt>
        <dd>
          {event.summarised_by === "model"
            ? `${amount(usage.input_tokens)} tokens in, ${amount(usage.output_tokens)} out`
            : "Nothing: no model was asked"}
        </dd>
        <dt>Summary by</dt>
        <dd>
          {WRITERS[event.summarised_by]}
          {event.summary_score == null ? "" : `, worth ${event.summary_score.toFixed(2)} of 1`}
        </dd>
        {report && (
          <>
            <dt>In memory only</dt>
            <dd>{many(report.only_in_memory.messages, "message")}</dd>
            <dt>In the log only</dt>
            <dd>{many(report.only_in_log.messages, "message")}</dd>
          </>
        )}
        {report?.words && (
          <>
            <dt>People's words</dt>
            <dd>
              {amount(report.words.kept)} stand below the summary ({amount(report.words.cut)} of
              them cut); {amount(report.words.left)} left
            </dd>
          </>
        )}
        {anchors && (
          <>
            <dt>Names</dt>
            <dd>
              {amount(anchors.found)} found: {amount(anchors.in_history)} in kept messages,{" "}
              {amount(anchors.in_summary)} in the summary, {amount(anchors.appended)} appended to
              it, {amount(anchors.only_in_memory)} only in memory
            </dd>
          </>
        )}
      </dl>
      {anchors && anchors.names.length > 0 && (
        <p class="names">
          Only in memory:{" "}
          {anchors.names.map((name) => (
            <code key={name}>{plain(name)}</code>
          ))}
          {anchors.only_in_memory > anchors.names.length &&
            ` and ${amount(anchors.only_in_memory - anchors.names.length)} more`}
        </p>
      )}
      <h3>The summary</h3>
      {event.summary === null ? (
        <p class="empty">There was no room for one.</p>
      ) : (
        <div class="card" ref={summary}>
          <SummaryWords
            text={event.summary}
            left={view?.messages ?? []}
            earlier={found}
            session={session}
            marked={inSummary}
          />
          <Sources source={source} of={{ session_id: session, event: seq }} onFound={setFound} />
        </div>
      )}
    </section>
  );
}

/** Takes a compaction back, and all later ones. Where there is no room, it says what would have to stay out. */
function UndoBar({
  source,
  about,
  session,
  seq,
  undoneBy,
  onChanged,
}: ViewProps & {
  readonly session: string;
  readonly seq: number;
  readonly undoneBy: number | undefined;
  readonly onChanged: () => void;
}) {
  const [outcome, setOutcome] = useState<Wire<UndoOutcome>>();
  const [error, setError] = useState<unknown>();
  const undo = async (request: object) => {
    try {
      setOutcome(await source.send("POST", `sessions/${urlPart(session)}/undo`, request));
      setError(undefined);
      onChanged();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <div class="undo">
      <div class="bar">
        {about.writes && undoneBy === undefined && (
          <button type="button" onClick={() => void undo({ event: seq })}>
            Undo this compaction
          </button>
        )}
        {undoneBy !== undefined && <Badge>undone by event {undoneBy}</Badge>}
        {about.writes && undoneBy !== undefined && (
          <button type="button" onClick={() => void undo({ event: undoneBy })}>
            Undo the undo
          </button>
        )}
        {!about.writes && !about.exported && (
          <span class="quiet">To undo it here, open the page with --write.</span>
        )}
      </div>
      <Failure error={error} />
      <p role="status">{outcome ? outcomeText(outcome) : ""}</p>
      {outcome?.undone === false && (
        <button
          type="button"
          onClick={() => void undo({ event: seq, leave_out: outcome.leave_out })}
        >
          Undo it, and leave {many(outcome.leave_out.length, "message")} out
        </button>
      )}
    </div>
  );
}

function outcomeText(outcome: Wire<UndoOutcome>): string {
  if (!outcome.undone)
    return `${outcome.reason} ${amount(outcome.tokens_over)} tokens are too many.`;
  return `In the window again: ${many(outcome.returned.length, "message")}. The next request has ${amount(outcome.used_tokens)} tokens.`;
}
