import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { CompactionView, Fate, UndoOutcome } from "../../../../core/operations/history.ts";
import {
  amount,
  Badge,
  Choice,
  clock,
  Failure,
  headOf,
  type LinkedPart,
  LinkedWords,
  plain,
  short,
  useLoaded,
} from "../parts.tsx";
import { hrefOf } from "../route.ts";
import type { SessionLog, WindowChange } from "../session-log.ts";
import type { Source, ViewProps } from "../source.ts";
import { VirtualList } from "../virtual-list.tsx";
import type { Wire } from "../wire.ts";
import { FATES } from "./fates.ts";
import { MessageTraceView } from "./message-trace.tsx";
import { type SourceOf, Sources } from "./sources.tsx";

type View = Wire<CompactionView>;

/** What each compaction kept and dropped. */
export function CompactionsView({
  source,
  about,
  log,
  session,
  seq,
  onChanged,
}: ViewProps & {
  readonly log: SessionLog;
  readonly session: string;
  readonly seq: number | undefined;
  readonly onChanged: () => void;
}) {
  const { changes } = log;
  const chosen = changes.find((change) => change.seq === seq) ?? changes.at(-1);
  const { value, error } = useLoaded(chosen && (() => read(source, session, chosen.seq)), [
    source,
    session,
    chosen?.seq,
  ]);
  const view = value?.event === chosen?.seq ? value : undefined;
  const [sought, setSought] = useState<{ readonly event: number; readonly message: number }>();
  const inSummary = sought?.event === chosen?.seq ? sought?.message : undefined;
  const picks = useRef<HTMLElement>(null);
  useEffect(() => {
    picks.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [chosen?.seq]);
  if (!chosen) return <p class="empty">This session was not compacted so far.</p>;
  return (
    <div class="compactions">
      <nav class="pick" aria-label="Compactions" ref={picks}>
        {changes.map((change, at) => (
          <a
            key={change.seq}
            href={hrefOf(session, "compactions", change.seq)}
            aria-current={change === chosen ? "true" : undefined}
          >
            <strong>{at + 1}</strong> <span>{clock(change.time)}</span>{" "}
            <span class="quiet">
              −{short(change.event.tokens_before - change.event.tokens_after)}
              <span class="unseen"> tokens</span>
            </span>
          </a>
        ))}
      </nav>
      <div class="beside" key={chosen.seq}>
        <Before
          source={source}
          about={about}
          last={log.seq}
          change={chosen}
          view={view}
          session={session}
          inSummary={inSummary}
          onSeek={(message) =>
            setSought(message === undefined ? undefined : { event: chosen.seq, message })
          }
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
            about={about}
            change={chosen}
            view={view}
            session={session}
            inSummary={inSummary}
          />
        </section>
      </div>
    </div>
  );
}

/** Messages that one request asks for. */
const PAGE = 1000;

/** A compaction, with all messages before it. */
async function read(source: Source, session: string, event: number): Promise<View> {
  const path = `sessions/${encodeURIComponent(session)}/compaction`;
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

function Before({
  source,
  about,
  change: { event },
  view,
  session,
  last,
  inSummary,
  onSeek,
  children,
}: ViewProps & {
  /** The last event of the log. */
  readonly last: number;
  readonly change: WindowChange;
  readonly view: View | undefined;
  readonly session: string;
  /** The message whose words are marked in the summary. */
  readonly inSummary: number | undefined;
  readonly onSeek: (message: number | undefined) => void;
  readonly children: ComponentChildren;
}) {
  const [fate, setFate] = useState("");
  const [traced, setTraced] = useState<number>();
  const messages = view?.messages ?? [];
  const counts = new Map<Fate, number>();
  for (const one of messages) counts.set(one.fate, (counts.get(one.fate) ?? 0) + 1);
  const shown = messages.filter((one) => fate === "" || one.fate === fate);
  return (
    <section aria-labelledby="before" class="before">
      <h2 id="before">Before: {amount(event.tokens_before)} tokens</h2>
      {children}
      <div class="bar">
        <Choice
          label="Messages"
          value={fate}
          onChange={setFate}
          options={[
            ["", `all ${messages.length}`],
            ...[...counts].map(([name, count]) => [name, `${FATES[name]} (${count})`] as const),
          ]}
        />
      </div>
      <VirtualList
        label="Messages before the compaction"
        items={shown}
        keyOf={({ id }) => id}
        rowHeight={84}
        render={({ id, role, fate: where, tokens, text, names }) => (
          <article class={`row fate ${where}`}>
            <div class="what">
              <span class="facts">
                <span class="who">{role === "assistant" ? "model" : role}</span>
                <Badge tone={where}>{FATES[where]}</Badge>
                <span class="quiet">{amount(tokens)} tokens</span>
                <a href={hrefOf(session, "transcript", id)}>Event {id}</a>
              </span>
              <span class="words">{headOf(text)}</span>
              {(where === "named" || where === "quoted") && (
                <button
                  type="button"
                  class="link"
                  aria-pressed={id === inSummary}
                  onClick={() => onSeek(id === inSummary ? undefined : id)}
                >
                  {id === inSummary ? "Unmark it in the summary" : "Mark it in the summary"}
                </button>
              )}
              {!about.exported && (
                <button
                  type="button"
                  class="link"
                  aria-expanded={id === traced}
                  onClick={() => setTraced(id === traced ? undefined : id)}
                >
                  {where === "kept" || !about.writes
                    ? "What became of it"
                    : "What became of it, and bring it back"}
                </button>
              )}
              {id === traced && (
                <MessageTraceView
                  source={source}
                  about={about}
                  session={session}
                  message={id}
                  since={last}
                />
              )}
              {where === "named" && (
                <span class="quiet">The summary has: {names.map(plain).join(", ")}</span>
              )}
            </div>
          </article>
        )}
      />
    </section>
  );
}

const WRITERS = { model: "a model", fallback: "rkat, without a model", none: "no one" } as const;

function After({
  source,
  about,
  change: { seq, event },
  view,
  session,
  inSummary,
}: ViewProps & {
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
            <dd>{amount(report.only_in_memory.messages)} messages</dd>
            <dt>In the log only</dt>
            <dd>{amount(report.only_in_log.messages)} messages</dd>
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
        </p>
      )}
      <h3>The summary</h3>
      {event.summary === null ? (
        <p class="empty">There was no room for one.</p>
      ) : (
        <div class="card" ref={summary}>
          <LinkedWords
            text={event.summary}
            parts={partsOf(view?.messages ?? [], found, session, inSummary)}
          />
          {!about.exported && (
            <Sources source={source} of={{ session_id: session, event: seq }} onFound={setFound} />
          )}
        </div>
      )}
    </section>
  );
}

/** Characters of a quotation that are looked for. A long one may be broken into lines. */
const QUOTED = 60;

/**
 * What a summary has of messages: their names, and the start of their words. Those that left now come first, then those
 * of the summaries before.
 */
function partsOf(
  left: View["messages"],
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
      setOutcome(
        await source.send("POST", `sessions/${encodeURIComponent(session)}/undo`, request),
      );
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
          Undo it, and leave {amount(outcome.leave_out.length)} messages out
        </button>
      )}
    </div>
  );
}

function outcomeText(outcome: Wire<UndoOutcome>): string {
  if (!outcome.undone)
    return `${outcome.reason} ${amount(outcome.tokens_over)} tokens are too many.`;
  return `${amount(outcome.returned.length)} messages are in the window again. The next request has ${amount(outcome.used_tokens)} tokens.`;
}
