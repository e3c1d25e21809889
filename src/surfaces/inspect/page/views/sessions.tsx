import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { HistoryHit } from "../../../../core/event-store.ts";
import { FIRST_EVENTS, firstPromptOf } from "../../../../core/first-prompt.ts";
import type { SessionCost } from "../../../../core/operations/cost.ts";
import type { SessionSummary } from "../../../../core/operations/sessions.ts";
import type { ContextView } from "../../../../core/operations/working-memory.ts";
import { urlPart } from "../../../../text/url-part.ts";
import { inFamilies } from "../families.ts";
import {
  amount,
  Badge,
  Choice,
  dollars,
  Failure,
  Field,
  headOf,
  Meter,
  many,
  plain,
  SearchField,
  short,
  Time,
  Title,
  useLoaded,
} from "../parts.tsx";
import { hrefOf } from "../route.ts";
import type { Source, ViewProps } from "../source.ts";
import { VirtualList } from "../virtual-list.tsx";
import type { Wire } from "../wire.ts";

type Summary = Wire<SessionSummary>;

const PAGE = 200;

/** All sessions, the newest first. */
export function SessionsView({ source }: ViewProps) {
  const [text, setText] = useState("");
  const [agent, setAgent] = useState("");
  const [archived, setArchived] = useState(false);
  const { sessions, isWhole, error, more } = useSessions(source, agent, archived);
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const soon = setTimeout(() => setAsked(text.trim()), 250);
    return () => clearTimeout(soon);
  }, [text]);
  const hits = useLoaded(
    asked === ""
      ? undefined
      : () =>
          source.get<{ results: readonly Wire<HistoryHit>[] }>("history/search", {
            query: asked,
            limit: 50,
            agent,
          }),
    [asked, agent],
  );
  // Names are looked for in all sessions, of which the list has read the newest.
  const isNaming = text.trim() !== "";
  useEffect(() => {
    if (isNaming) more();
  }, [isNaming, more]);
  const agents = useAgents(sessions);
  const found = useMemo(
    () =>
      isNaming
        ? sessions
            .filter((session) => isNamed(session, text))
            .map((session) => ({ session, depth: 0 }))
        : inFamilies(sessions),
    [sessions, text, isNaming],
  );
  return (
    <div class="view">
      <Title>Sessions</Title>
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
        <SearchField
          label="Search sessions"
          placeholder="Search names and what was said"
          value={text}
          onChange={setText}
        />
        <Choice
          label="Agent"
          value={agent}
          onChange={setAgent}
          options={[["", "all"], ...agents.map((name) => [name, name] as const)]}
        />
        <Field
          label="Archived too"
          type="checkbox"
          checked={archived}
          onChange={(event) => setArchived(event.currentTarget.checked)}
        />
        <span class="status" role="status">
          {isWhole || isNaming ? amount(found.length) : `${amount(found.length)} and more`}{" "}
          {found.length === 1 ? "session" : "sessions"}
          {isNaming && !isWhole && " so far"}
        </span>
      </form>
      <Failure error={error ?? hits.error} />
      {isWhole && sessions.length === 0 && (
        <p class="empty">
          There are no sessions here yet. `rkat run`, `rkat chat` and `rkat import` make some.
        </p>
      )}
      <div class={asked && found.length > 0 ? "split" : "fill"}>
        {found.length > 0 && (
          <VirtualList
            label="Sessions"
            items={found}
            keyOf={({ session }) => session.session_id}
            rowHeight={68}
            onEnd={more}
            render={({ session, depth }) => (
              <SessionRow session={session} depth={depth} source={source} />
            )}
          />
        )}
        {asked && hits.value && <Hits hits={hits.value.results} />}
      </div>
    </div>
  );
}

function useSessions(source: Source, agent: string, archived: boolean) {
  const [sessions, setSessions] = useState<readonly Summary[]>([]);
  const [isWhole, setWhole] = useState(false);
  const [error, setError] = useState<unknown>();
  const asked = useRef({ offset: -1, key: "" });
  const key = `${agent}\n${archived}`;
  const load = useCallback(
    async (offset: number) => {
      if (asked.current.key === key && asked.current.offset >= offset) return;
      asked.current = { key, offset };
      try {
        const { sessions: next } = await source.get<{ sessions: readonly Summary[] }>("sessions", {
          limit: PAGE,
          offset,
          agent,
          ...(archived ? { include_archived: true } : {}),
        });
        if (asked.current.key !== key) return;
        // A session that was used meanwhile is on the next page again.
        setSessions((before) => (offset === 0 ? next : withoutTwins([...before, ...next])));
        setWhole(next.length < PAGE);
        setError(undefined);
      } catch (failure) {
        if (asked.current.key !== key) return;
        asked.current = { key: "", offset: -1 };
        setError(failure);
      }
    },
    [source, agent, archived, key],
  );
  useEffect(() => {
    void load(0);
  }, [load]);
  const more = useCallback(() => {
    if (!isWhole && sessions.length > 0) void load(sessions.length);
  }, [load, isWhole, sessions.length]);
  return { sessions, isWhole, error, more };
}

function withoutTwins(sessions: readonly Summary[]): readonly Summary[] {
  return [...new Map(sessions.map((session) => [session.session_id, session])).values()];
}

/** The agents that were seen: a filter must not take away the others. */
function useAgents(sessions: readonly Summary[]): readonly string[] {
  const seen = useRef(new Set<string>());
  for (const { source } of sessions) seen.current.add(source.agent);
  return [...seen.current].sort();
}

function isNamed({ session_id, source, labels, model }: Summary, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const names = [
    session_id,
    source.title,
    source.project,
    source.branch,
    source.agent,
    model,
    Object.values(labels).join(" "),
  ]
    .join(" ")
    .toLowerCase();
  return words.every((word) => names.includes(word));
}

/** Steps of indentation. Deeper ones are as deep as the last. */
const DEPTH_MAX = 3;

function SessionRow({
  session,
  depth,
  source,
}: {
  readonly session: Summary;
  readonly depth: number;
  readonly source: Source;
}) {
  const {
    session_id: id,
    source: from,
    turns,
    updated_at,
    archived,
    total_tokens,
    forks,
  } = session;
  const context = useOnce(`context ${id} ${updated_at}`, () =>
    source.get<Wire<ContextView>>(`sessions/${urlPart(id)}/context`),
  );
  const cost = useOnce(`cost ${id} ${updated_at}`, () =>
    source.get<Wire<SessionCost>>(`sessions/${urlPart(id)}/cost`, { limit: 1 }),
  );
  const first = useOnce(from.title ? "" : `title ${id}`, () => firstPrompt(source, id));
  const full = context && (context.threshold ?? context.context_window);
  return (
    <a class={`session depth-${Math.min(depth, DEPTH_MAX)}`} href={hrefOf(id)}>
      <span class="title" dir="auto">
        {headOf(from.title ?? first ?? id, 120) || plain(id)}
      </span>
      <span class="facts">
        <Badge tone="agent">{plain(from.agent)}</Badge>
        {from.parent && <Badge>{from.parent.relation}</Badge>}
        {archived && <Badge>archived</Badge>}
        <Time at={updated_at} />
        <span>{many(turns, "turn")}</span>
        {total_tokens > 0 && <span>{short(total_tokens)} tokens</span>}
        {cost?.cost_usd != null && cost.cost_usd > 0 && <span>{dollars(cost.cost_usd)}</span>}
        {forks !== undefined && <span>{many(forks.length, "fork")}</span>}
        {Object.entries(session.labels).map(([name, value]) => (
          <span key={name} class="label">
            {headOf(`${name}=${value}`, 40)}
          </span>
        ))}
        {from.project && (
          <span class="path">{headOf(from.project.split("/").slice(-2).join("/"), 60)}</span>
        )}
      </span>
      {full ? (
        <span class="fullness">
          <Meter label="Window in use" warns used={context.used_tokens} of={full} />
          <span aria-hidden="true">{Math.round((context.used_tokens / full) * 100)} %</span>
        </span>
      ) : null}
    </a>
  );
}

const known = new Map<string, unknown>();
let line: Promise<unknown> = Promise.resolve();

/** Something about a row, asked for once while the row is in sight, one request after the other. */
function useOnce<Value>(key: string, load: () => Promise<Value>): Value | undefined {
  const [, repaint] = useState(0);
  useEffect(() => {
    if (key === "" || known.has(key)) return;
    let isInSight = true;
    line = line.then(async () => {
      if (!isInSight || known.has(key)) return;
      // What failed is asked again when the row is in sight again.
      await load().then(
        (value) => known.set(key, value),
        () => {},
      );
      repaint((times) => times + 1);
    });
    return () => {
      isInSight = false;
    };
  }, [key]);
  return known.get(key) as Value | undefined;
}

async function firstPrompt(source: Source, id: string): Promise<string | undefined> {
  return firstPromptOf((await source.log(id, 0, FIRST_EVENTS)).events);
}

function Hits({ hits }: { readonly hits: readonly Wire<HistoryHit>[] }) {
  return (
    <section class="hits" aria-label="Said in sessions">
      <h2>Said in sessions</h2>
      {hits.length === 0 && <p class="empty">No message has these words.</p>}
      <ul>
        {hits.map((hit) => (
          <li key={`${hit.session_id} ${hit.seq}`}>
            <a class="hit" href={hrefOf(hit.session_id, "transcript", hit.seq)}>
              <span class="facts">
                <Badge tone={hit.role}>{hit.role}</Badge>
                <Time at={hit.time} />
              </span>
              <span dir="auto">{headOf(hit.content, 240)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
