import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { parsedJson } from "../../../../core/json-values.ts";
import { estimateTokens } from "../../../../core/tokens.ts";
import { amount, Badge, clock, Failure, headOf, many, plain, Words } from "../parts.tsx";
import { askingFor, hrefOf } from "../route.ts";
import { askedTurns, type SessionLog, type ToolRow } from "../session-log.ts";
import type { Source, ViewProps } from "../source.ts";
import { type Hit, Recalled, Score } from "./records.tsx";

/** Turns that are shown at first, and how many each click adds. */
const SHOWN = 30;

/** Turn by turn: what came back from memory by itself, and what the agent searched for and got. */
export function RecalledView({
  source,
  about,
  log,
  session,
  seq,
}: ViewProps & {
  readonly log: SessionLog;
  readonly session: string;
  readonly seq: number | undefined;
}) {
  const turns = useMemo(() => askedTurns(log.rows).toReversed(), [log, log.rows.length, log.seq]);
  const wanted = turns.findIndex(({ asked }) => asked.some((row) => row.seq === seq));
  const [shown, setShown] = useState(SHOWN);
  const most = Math.max(shown, wanted + 1);
  const marked = useRef<HTMLElement>(null);
  useEffect(() => marked.current?.scrollIntoView({ block: "start" }), [wanted, seq]);
  if (turns.length === 0)
    return (
      <p class="empty">
        Nothing came back from memory so far, and the agent has not searched it. Records come back
        by themselves after a compaction, when a prompt is about something that left the window.
      </p>
    );
  return (
    <div class="scroll">
      {turns.slice(0, most).map((turn, at) => (
        <section
          key={turn.seq}
          class={at === wanted ? "card marked" : "card"}
          aria-labelledby={`turn-${turn.seq}`}
          ref={at === wanted ? marked : null}
        >
          <h2 id={`turn-${turn.seq}`}>
            <a href={hrefOf(session, "transcript", turn.seq)}>
              {turn.prompt === "" ? "Before the first prompt" : `“${headOf(turn.prompt, 140)}”`}
            </a>{" "}
            <span class="quiet">{clock(turn.time)}</span>
          </h2>
          {turn.asked.map((row) => (
            <div key={row.id} class="asked">
              <h3>{row.kind === "recalled" ? "Came back by itself" : titleOf(row)}</h3>
              {row.kind === "recalled" ? (
                <Recalled source={source} about={about} session={session} log={log} recall={row} />
              ) : (
                <Search source={source} about={about} row={row} />
              )}
            </div>
          ))}
        </section>
      ))}
      {turns.length > most && (
        <button type="button" class="more" onClick={() => setShown(most + SHOWN)}>
          Show earlier ones ({amount(turns.length - most)} are left)
        </button>
      )}
    </div>
  );
}

function titleOf({ name }: ToolRow): string {
  return name.endsWith("memory_search")
    ? "The agent searched memory"
    : "The agent searched the log";
}

/** A search of the agent, as it got it. */
function Search({ source, about, row }: ViewProps & { readonly row: ToolRow }) {
  const queries = queriesOf(row.args);
  const found = row.result === undefined ? undefined : resultsIn(row.result);
  return (
    <>
      <p>
        {queries.map((query) => (
          <q key={query}>{plain(query)}</q>
        ))}{" "}
        <span class="quiet">
          {row.result === undefined
            ? "has no answer yet"
            : `${found ? `${many(found.length, "result")}, ` : ""}${amount(tokensOf(row.result))} tokens`}
        </span>{" "}
        {!about.exported && queries.length > 0 && (
          <a href={askingFor("recall", { q: queries.join(" | ") })}>Ask it again</a>
        )}
      </p>
      {found?.length === 0 && <p class="quiet">It found nothing.</p>}
      {found && (
        <ul class="records">
          {found.map((one, at) => (
            <li key={at}>
              <span class="facts">
                {one.said_by && <Badge tone={one.said_by}>{plain(one.said_by)}</Badge>}
                {typeof one.score === "number" && <Score score={one.score} />}
                <WhereSaid source={source} about={about} found={one} />
              </span>
              <Words text={one.content} />
            </li>
          ))}
        </ul>
      )}
      {!found && row.result !== undefined && <Words text={row.result} mono />}
    </>
  );
}

function tokensOf(content: string): number {
  const results = [{ tool_use_id: "", content, is_error: false }];
  return estimateTokens([{ role: "tool_results", results }]);
}

/** A hit as a model is given it. */
interface GivenHit {
  readonly content: string;
  readonly session_id: string;
  readonly seq?: number;
  readonly score?: number;
  readonly said_by?: string;
}

function queriesOf(args: unknown): readonly string[] {
  const query = typeof args === "object" && args !== null ? Reflect.get(args, "query") : undefined;
  return [query].flat().filter((one) => typeof one === "string");
}

function resultsIn(result: string): readonly GivenHit[] | undefined {
  const found = parsedJson(result);
  return Array.isArray(found) && found.every(isGivenHit) ? found : undefined;
}

function isGivenHit(found: unknown): found is GivenHit {
  if (typeof found !== "object" || found === null) return false;
  const { content, session_id } = found as Partial<GivenHit>;
  return typeof content === "string" && typeof session_id === "string";
}

/** A model is told the session of a hit of memory, and not the message: that is looked for when you press the button. */
function WhereSaid({ source, about, found }: ViewProps & { readonly found: GivenHit }) {
  const [failed, setFailed] = useState<unknown>();
  if (found.seq !== undefined)
    return <a href={hrefOf(found.session_id, "transcript", found.seq)}>Where it was said</a>;
  if (about.exported) return null;
  const go = async () => {
    try {
      location.hash = await placeOf(source, found);
    } catch (failure) {
      setFailed(failure);
    }
  };
  return (
    <>
      <button type="button" class="link" onClick={() => void go()}>
        Where it was said
      </button>
      <Failure error={failed} />
    </>
  );
}

async function placeOf(source: Source, { content, session_id }: GivenHit): Promise<string> {
  const { results } = await source.get<{ results: readonly Hit[] }>("memory/search", {
    query: content.slice(0, 500),
    session_id,
    limit: 5,
  });
  const same = results.find((hit) => hit.content.startsWith(content.slice(0, 200)));
  return hrefOf(session_id, "transcript", (same ?? results[0])?.source?.from);
}
