import { useState } from "preact/hooks";
import type { MemoryEntry, MemoryHit, ScorePart } from "../../../../core/memory-store.ts";
import {
  amount,
  Badge,
  Choice,
  Failure,
  headOf,
  Meter,
  plain,
  SearchField,
  Time,
  useLoaded,
  Words,
} from "../parts.tsx";
import type { ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { Origin } from "./records.tsx";

type Hit = Wire<MemoryHit>;

/** What memory finds for a question, and why. */
export function RecallView({ source }: ViewProps) {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const [kind, setKind] = useState("");
  const { value, error } = useLoaded(
    asked === ""
      ? undefined
      : () =>
          source.get<{ results: readonly Hit[] }>("memory/search", {
            query: asked,
            limit: 20,
            explain: true,
            neighbours: 1,
            kind,
          }),
    [asked, kind],
  );
  return (
    <div class="view">
      <h1>Recall</h1>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(text.trim());
        }}
      >
        <SearchField
          label="Question"
          placeholder="Ask memory what an agent would ask"
          value={text}
          onChange={setText}
        />
        <Choice
          label="Kind"
          value={kind}
          onChange={setKind}
          options={[
            ["", "all"],
            ["message", "messages"],
            ["fact", "facts"],
            ["correction", "corrections"],
            ["preference", "preferences"],
            ["rule", "rules"],
          ]}
        />
        <button type="submit">Ask</button>
        <span class="status" role="status">
          {value ? `${amount(value.results.length)} results` : ""}
        </span>
      </form>
      <Failure error={error} />
      <div class="scroll">
        {value?.results.length === 0 && (
          <p class="empty">
            Nothing in memory is about this. What scores too low is no result: memory rather says
            nothing.
          </p>
        )}
        <ol class="results">
          {value?.results.map((hit) => (
            <li key={hit.id} class="card">
              <Result hit={hit} />
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

function Result({ hit }: { readonly hit: Hit }) {
  const { neighbours, explanation } = hit;
  return (
    <article>
      <span class="facts">
        <Meter label="Score" used={hit.score} of={1} />
        <strong>{hit.score.toFixed(2)}</strong>
        <Badge tone={hit.role ?? ""}>{plain(hit.speaker ?? hit.role ?? hit.kind)}</Badge>
        {hit.kind !== "message" && <Badge>{hit.kind}</Badge>}
        {hit.time && <Time at={hit.time} />}
        <Origin id={hit.id} />
      </span>
      {neighbours?.before.map((one) => (
        <Neighbour key={one.id} entry={one} />
      ))}
      <Words text={hit.content} />
      {neighbours?.after.map((one) => (
        <Neighbour key={one.id} entry={one} />
      ))}
      {explanation && (
        <details>
          <summary>Why it was found</summary>
          <Parts parts={explanation.parts} />
        </details>
      )}
    </article>
  );
}

function Neighbour({ entry }: { readonly entry: Wire<MemoryEntry> }) {
  return (
    <p class="neighbour" dir="auto">
      <span class="who">{plain(entry.role ?? "")}</span> {headOf(entry.content, 200)}
    </p>
  );
}

function Parts({ parts }: { readonly parts: readonly ScorePart[] }) {
  const most = Math.max(...parts.map(({ adds = 0 }) => adds), 0.0001);
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
        {parts.map(({ name, of, adds, times }) => (
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
