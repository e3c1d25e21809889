import { useMemo, useState } from "preact/hooks";
import type { UndoOutcome } from "../../../../core/operations/history.ts";
import { amount, Badge, Choice, clock, Failure, headOf, plain, Words } from "../parts.tsx";
import { hrefOf } from "../route.ts";
import {
  type Fate,
  fateOf,
  type SessionLog,
  speakerOf,
  textOf,
  tokensOf,
  type WindowChange,
} from "../session-log.ts";
import type { ViewProps } from "../source.ts";
import { VirtualList } from "../virtual-list.tsx";
import type { Wire } from "../wire.ts";

const FATES: Readonly<Record<Fate, string>> = {
  kept: "Kept word for word",
  shortened: "Kept, its output shortened",
  quoted: "Left; quoted in the summary",
  "in memory": "Left; memory finds it",
  "in the log": "Left; only the log has it",
};

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
  if (!chosen) return <p class="empty">This session was not compacted so far.</p>;
  return (
    <div class="compactions">
      <nav class="pick" aria-label="Compactions">
        {changes.map((change, at) => (
          <a
            key={change.seq}
            href={hrefOf(session, "compactions", change.seq)}
            aria-current={change === chosen ? "true" : undefined}
          >
            <strong>{at + 1}</strong> <span>{clock(change.time)}</span>{" "}
            <span class="quiet">
              −{amount(change.event.tokens_before - change.event.tokens_after)}
            </span>
          </a>
        ))}
      </nav>
      <div class="scroll">
        <Before key={chosen.seq} change={chosen} session={session} />
        <div class="after">
          <UndoBar
            key={chosen.seq}
            source={source}
            about={about}
            session={session}
            seq={chosen.seq}
            undoneBy={log.undone.get(chosen.seq)}
            onChanged={onChanged}
          />
          <After change={chosen} />
        </div>
      </div>
    </div>
  );
}

function Before({ change, session }: { readonly change: WindowChange; readonly session: string }) {
  const { event, before } = change;
  const [fate, setFate] = useState("");
  const messages = useMemo(
    () => before.map((message) => ({ message, fate: fateOf(message, change) })),
    [before, change],
  );
  const counts = new Map<Fate, number>();
  for (const one of messages) counts.set(one.fate, (counts.get(one.fate) ?? 0) + 1);
  const shown = messages.filter((one) => fate === "" || one.fate === fate);
  return (
    <section aria-labelledby="before" class="before">
      <h2 id="before">Before: {amount(event.tokens_before)} tokens</h2>
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
        keyOf={({ message }) => message.id}
        rowHeight={84}
        render={({ message, fate: where }) => (
          <article class={`row fate ${where.replaceAll(" ", "-")}`}>
            <div class="what">
              <span class="facts">
                <span class="who">{speakerOf(message.message)}</span>
                <Badge tone={where.replaceAll(" ", "-")}>{FATES[where]}</Badge>
                <span class="quiet">{amount(tokensOf(message.message))} tokens</span>
                <a href={hrefOf(session, "transcript", message.from)}>Event {message.from}</a>
              </span>
              <span class="words">
                {headOf(textOf(message.message) || callsOf(message.message), 400)}
              </span>
            </div>
          </article>
        )}
      />
    </section>
  );
}

function callsOf(message: WindowChange["before"][number]["message"]): string {
  if (message.role !== "block_assistant") return "";
  return message.blocks
    .flatMap((block) =>
      block.block_type === "tool_use"
        ? [`${block.data.name} ${JSON.stringify(block.data.args)}`]
        : [],
    )
    .join(" ");
}

const WRITERS = { model: "a model", fallback: "rkat, without a model", none: "no one" } as const;

function After({ change: { event } }: { readonly change: WindowChange }) {
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
          {amount(usage.input_tokens)} tokens in, {amount(usage.output_tokens)} out
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
        <div class="card">
          <Words text={event.summary} />
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
