import { useState } from "preact/hooks";
import type { HistoryHit } from "../../../../core/event-store.ts";
import { amount, Badge, Failure, Field, headOf, plain, Time, useLoaded, Words } from "../parts.tsx";
import { hrefOf } from "../route.ts";
import type { Source } from "../source.ts";
import type { Wire } from "../wire.ts";
import { type Hit, Origin, Parts } from "./records.tsx";

/** What a question is compared with, however little it scores. */
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
export function Missing(props: MissingProps) {
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
  /** What the question gives when nothing scores too little. */
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
