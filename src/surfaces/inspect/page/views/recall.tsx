import { useState } from "preact/hooks";
import type { MemoryEntry } from "../../../../core/memory-store.ts";
import {
  amount,
  Badge,
  Choice,
  Failure,
  headOf,
  KINDS,
  SearchField,
  Time,
  useLoaded,
  Words,
  whoSaid,
} from "../parts.tsx";
import { askingFor } from "../route.ts";
import type { Source, ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { Missing } from "./missing.tsx";
import { type Hit, Origin, Parts, Score } from "./records.tsx";
import { Sources } from "./sources.tsx";

/** Results at the most. */
const SHOWN = 20;

/** What memory finds for a question, and why; and why it does not find something. */
export function RecallView({ source, asked }: ViewProps & { readonly asked: URLSearchParams }) {
  const question = asked.get("q") ?? "";
  const kind = asked.get("kind") ?? "";
  const [text, setText] = useState(question);
  const ask = (q: string, of: string) => {
    location.hash = askingFor("recall", { q, kind: of });
  };
  const query = phrasingsIn(question);
  const { value, error } = useLoaded(
    query.length === 0
      ? undefined
      : () =>
          source.get<{ results: readonly Hit[] }>("memory/search", {
            query,
            limit: SHOWN,
            explain: true,
            neighbours: 1,
            kind,
          }),
    [question, kind],
  );
  return (
    <div class="view">
      <h1>Recall</h1>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          ask(text.trim(), kind);
        }}
      >
        <SearchField
          label="Question"
          placeholder="Ask memory what an agent would ask: one way | another way"
          value={text}
          onChange={setText}
        />
        <Choice label="Kind" value={kind} onChange={(of) => ask(text.trim(), of)} options={KINDS} />
        <button type="submit">Ask</button>
        <span class="status" role="status">
          {value ? `${amount(value.results.length)} results` : ""}
        </span>
      </form>
      <Failure error={error} />
      <div class="scroll">
        {query.length === 0 && (
          <p class="empty">
            You see what a search of memory gives an agent, best first, with the parts of each
            score. What came back by itself in a session is in its part “Recalled”.
          </p>
        )}
        {value?.results.length === 0 && (
          <p class="empty">
            Nothing in memory is about this. What scores too low is no result: memory rather says
            nothing.
          </p>
        )}
        <ol class="results">
          {value?.results.map((hit) => (
            <li key={hit.id} class="card">
              <Result source={source} hit={hit} />
            </li>
          ))}
        </ol>
        {value && (
          <Missing source={source} query={query} kind={kind} shown={value.results} most={SHOWN} />
        )}
      </div>
    </div>
  );
}

/** A question in several phrasings is one search, as an agent makes it. */
function phrasingsIn(question: string): readonly string[] {
  return question
    .split("|")
    .map((one) => one.trim())
    .filter((one) => one !== "");
}

function Result({ source, hit }: { readonly source: Source; readonly hit: Hit }) {
  const { neighbours, explanation } = hit;
  return (
    <article>
      <span class="facts">
        <Score score={hit.score} />
        <Badge tone={hit.role ?? ""}>{whoSaid(hit.speaker ?? hit.role ?? hit.kind)}</Badge>
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
      <Sources source={source} of={{ id: hit.id }} />
    </article>
  );
}

function Neighbour({ entry }: { readonly entry: Wire<MemoryEntry> }) {
  return (
    <p class="neighbour" dir="auto">
      <span class="who">{whoSaid(entry.role ?? "")}</span> {headOf(entry.content, 200)}
    </p>
  );
}
