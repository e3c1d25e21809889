import { useState } from "preact/hooks";
import type { HistoryHit } from "../../../../core/event-store.ts";
import type { MemoryEntry, MemoryLag } from "../../../../core/memory-store.ts";
import {
  amount,
  Badge,
  Choice,
  Failure,
  Field,
  headOf,
  KINDS,
  many,
  plain,
  SearchField,
  Time,
  Title,
  useLoaded,
  Words,
  whoSaid,
} from "../parts.tsx";
import { askingFor, hrefOf } from "../route.ts";
import type { Source, ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { type Hit, Origin, Parts, Score } from "./records.tsx";
import { Sources } from "./sources.tsx";

/** Results at the most. */
const SHOWN = 20;

/** The view of a question to memory: what it finds and why, and why it does not find something. */
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
          source.get<{ results: readonly Hit[]; behind?: MemoryLag }>("memory/search", {
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
      <Title>Recall</Title>
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
          {value ? many(value.results.length, "result") : ""}
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
        {value?.behind && (
          <p role="status">
            Memory is behind: it lacks the last {many(value.behind.events, "event")} of the log.
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

/** The entries that a question is compared with, however little they score. */
const COMPARED = 500;
/** Entries that you may have meant. */
const CANDIDATES = 3;

interface MissingProps {
  readonly source: Source;
  readonly query: readonly string[];
  readonly kind: string;
  /** The results, which are `most` at the most. */
  readonly shown: readonly Hit[];
  readonly most: number;
}

/** The reason why a text is no result: it scores too little, memory does not have it, or it was never said. */
function Missing(props: MissingProps) {
  const [text, setText] = useState("");
  const [expected, setExpected] = useState("");
  return (
    <section aria-labelledby="missing" class="missing">
      <h2 id="missing">Is something missing?</h2>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          setExpected(text.trim());
        }}
      >
        <Field
          label="Words of what you expected"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">Why not?</button>
      </form>
      {expected !== "" && <WhyNot key={expected} {...props} expected={expected} />}
    </section>
  );
}

interface Looked {
  readonly candidates: readonly Hit[];
  /** The results of the question when nothing scores too little. */
  readonly ranked: readonly Hit[];
  /** Asked only when memory has no candidate. */
  readonly logged: readonly Wire<HistoryHit>[];
}

function WhyNot({
  source,
  query,
  kind,
  shown,
  most,
  expected,
}: MissingProps & { readonly expected: string }) {
  const { value, error } = useLoaded(
    () => look(source, query, expected),
    [query.join("|"), expected],
  );
  if (!value) return <Failure error={error} />;
  const { candidates, ranked, logged } = value;
  return (
    <div role="status">
      {candidates.map((candidate) => (
        <div key={candidate.id} class="card">
          <p>
            <strong>{reasonOf(candidate, { ranked, shown, most, kind })}</strong>
          </p>
          <span class="facts">
            <Badge tone={candidate.role ?? ""}>
              {plain(candidate.speaker ?? candidate.role ?? candidate.kind)}
            </Badge>
            {candidate.time && <Time at={candidate.time} />}
            <Origin id={candidate.id} />
          </span>
          <Words text={candidate.content} />
          <PartsOf hit={ranked.find(({ id }) => id === candidate.id)} />
        </div>
      ))}
      {candidates.length === 0 && logged.length > 0 && (
        <div class="card">
          <p>
            <strong>Memory does not have it; the log does.</strong> Memory has what people and
            models said, and not the output of tools.
          </p>
          <ul>
            {logged.map((hit) => (
              <li key={`${hit.session_id} ${hit.seq}`}>
                <a href={hrefOf(hit.session_id, "transcript", hit.seq)}>
                  {headOf(hit.content, 160)}
                </a>{" "}
                <span class="quiet">{hit.role}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      {candidates.length === 0 && logged.length === 0 && (
        <p>
          Neither memory nor a log has these words: it was never said here, or it was forgotten.
        </p>
      )}
    </div>
  );
}

function PartsOf({ hit }: { readonly hit: Hit | undefined }) {
  if (!hit?.explanation) return null;
  return (
    <details>
      <summary>The parts of its score</summary>
      <Parts parts={hit.explanation.parts} />
    </details>
  );
}

async function look(source: Source, query: readonly string[], expected: string): Promise<Looked> {
  const search = async (asked: object) =>
    (await source.get<{ results: readonly Hit[] }>("memory/search", { ...asked })).results;
  const candidates = await search({ query: expected, limit: CANDIDATES });
  if (candidates.length === 0) {
    const { results } = await source.get<{ results: readonly Wire<HistoryHit>[] }>(
      "history/search",
      { query: expected, limit: 5 },
    );
    return { candidates, ranked: [], logged: results };
  }
  const ranked = await search({ query, limit: COMPARED, min_score: 0, explain: true });
  return { candidates, ranked, logged: [] };
}

function reasonOf(
  { id, kind: of }: Hit,
  { ranked, shown, most, kind }: Pick<Looked, "ranked"> & Omit<MissingProps, "source" | "query">,
): string {
  const place = shown.findIndex((hit) => hit.id === id);
  if (place >= 0) return `It is result ${place + 1}.`;
  if (kind !== "" && of !== kind) return `It is a ${of}, and you asked for a ${kind}.`;
  const rank = ranked.findIndex((hit) => hit.id === id);
  const hit = ranked[rank];
  if (!hit)
    return ranked.length < COMPARED
      ? "It has no word of the question, and nothing that means one."
      : `${amount(COMPARED)} entries score higher.`;
  const last = shown.at(-1);
  if (shown.length === most && last && rank >= most)
    return `It scores ${hit.score.toFixed(2)}, and is number ${rank + 1}: ${most} are shown, down to ${last.score.toFixed(2)}.`;
  return `It scores ${hit.score.toFixed(2)}, which is too little to be a result: so little is mostly about something else.`;
}
