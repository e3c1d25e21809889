import { useState } from "preact/hooks";
import type { RecalledRecord } from "../../../../core/event.ts";
import { type MemoryHit, matchOfHit, type ScorePart } from "../../../../core/memory-store.ts";
import { Badge, Failure, Meter, many, plain, Time, useLoaded, Words } from "../parts.tsx";
import { askingFor, hrefOf } from "../route.ts";
import type { RecalledRow, SessionLog } from "../session-log.ts";
import type { Source, ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { NotThis } from "./bring-back.tsx";
import { Sources } from "./sources.tsx";

export type Hit = Wire<MemoryHit>;

/** Records of memory that came back by themselves: each with its score, and why. */
export function Recalled({
  source,
  about,
  session,
  log,
  recall: { event, prompt },
}: ViewProps & {
  readonly session: string;
  readonly log: SessionLog;
  readonly recall: RecalledRow;
}) {
  const { records, tokens, bar, replaces } = event;
  return (
    <>
      <p class="quiet">
        {many(records.length, "record")}, {many(tokens, "token")}
        {replaces ? ", in the place of earlier ones" : ""}.
        {bar === undefined ? "" : ` The best of them had to score ${bar.toFixed(2)}.`}
      </p>
      <ul class="records">
        {records.map((record) => (
          <li key={record.id}>
            <span class="facts">
              <Badge tone={record.said_by}>{plain(record.said_by)}</Badge>
              <Score score={record.score} />
              {record.time && <Time at={record.time} />}
              {record.session && <Badge>another session</Badge>}
              <Origin id={record.id} />
              {about.writes && (
                <NotThis
                  source={source}
                  session={session}
                  id={record.id}
                  isRefused={log.refused.has(record.id)}
                />
              )}
            </span>
            <Words text={record.text} />
            {!about.exported && <Why source={source} prompt={prompt} record={record} />}
            <Sources source={source} of={{ id: record.id }} />
          </li>
        ))}
      </ul>
    </>
  );
}

export function Score({ score }: { readonly score: number }) {
  return (
    <>
      <Meter label="Score" used={score} of={1} />
      <strong>{score.toFixed(2)}</strong>
    </>
  );
}

/** Asks memory for the prompt again: the parts of the score, or beside what the record was said. */
function Why({
  source,
  prompt,
  record,
}: {
  readonly source: Source;
  readonly prompt: string;
  readonly record: RecalledRecord;
}) {
  const [isOpen, setOpen] = useState(false);
  const query = prompt.slice(0, QUERY_MAX);
  const { value, error } = useLoaded(
    isOpen
      ? () =>
          source.get<{ results: readonly Hit[] }>("memory/search", {
            query,
            limit: 60,
            neighbours: 1,
            min_score: 0,
            explain: true,
          })
      : undefined,
    [isOpen, query],
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Why it came back</summary>
      <Failure error={error} />
      {value && <Reason hits={value.results} record={record} />}
      {value && (
        <a href={askingFor("recall", { q: query })}>All that memory finds for the prompt</a>
      )}
    </details>
  );
}

/** Characters of a question. */
const QUERY_MAX = 2000;

function Reason({
  hits,
  record,
}: {
  readonly hits: readonly Hit[];
  readonly record: RecalledRecord;
}) {
  const hit = hits.find(({ id }) => id === record.id);
  const beside = hits.find(({ neighbours }) =>
    [...(neighbours?.before ?? []), ...(neighbours?.after ?? [])].some(
      ({ id }) => id === record.id,
    ),
  );
  // Records come back by how much of the prompt they have: their score is the match of a hit.
  const differs = (one: Hit) => Math.abs(matchOfHit(one) - record.score);
  if (beside && (!hit || differs(beside) < differs(hit)))
    return (
      <>
        <p class="quiet">
          It was said right beside a record that scores {matchOfHit(beside).toFixed(2)}: an answer
          has few words of its question.
        </p>
        <Words text={beside.content} />
        <Parts parts={beside.explanation?.parts ?? []} />
      </>
    );
  if (!hit)
    return (
      <p class="quiet">
        Memory has changed since: today it is not among the {hits.length} best for this prompt.
      </p>
    );
  return (
    <>
      {differs(hit) >= 0.005 && (
        <p class="quiet">Memory has changed since: today it scores {matchOfHit(hit).toFixed(2)}.</p>
      )}
      <Parts parts={hit.explanation?.parts ?? []} />
    </>
  );
}

/** The message that an entry of memory is. Its id names the session and the message. */
export function Origin({ id }: { readonly id: string }) {
  const [, session, message] = /^(.+):(\d+)(?:#.*)?$/.exec(id) ?? [];
  if (session === undefined) return null;
  return <a href={hrefOf(session, "transcript", Number(message))}>Where it was said</a>;
}

export function Parts({ parts }: { readonly parts: readonly ScorePart[] }) {
  const most = Math.max(...parts.map(({ adds = 0 }) => adds), 0.0001);
  // Largest first; what multiplies comes after what is multiplied.
  const sorted = parts.toSorted((one, other) => (other.adds ?? -1) - (one.adds ?? -1));
  return (
    <table class="parts">
      <caption class="unseen">Parts of the score</caption>
      <thead>
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Of</th>
          <th scope="col" class="number">
            Counts
          </th>
          <th scope="col">
            <span class="unseen">Size</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {sorted.map(({ name, of, adds, times }) => (
          <tr key={`${name} ${of}`}>
            <th scope="row">{plain(name)}</th>
            <td>{plain(of ?? "")}</td>
            <td class="number">
              {adds === undefined ? `× ${times?.toFixed(2)}` : `+ ${adds.toFixed(2)}`}
            </td>
            <td>
              {adds !== undefined && <Meter label="Of the largest part" used={adds} of={most} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
