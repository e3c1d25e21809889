import { useEffect, useReducer, useState } from "preact/hooks";
import type { EventEnvelope } from "../../../../core/event.ts";
import type { SessionView as Session } from "../../../../core/operations/sessions.ts";
import { urlPart } from "../../../../text/url-part.ts";
import { amount, Badge, Failure, headOf, many, plain, Time, Title, useLoaded } from "../parts.tsx";
import { hrefOf, type Route, SESSION_PARTS, type SessionPart } from "../route.ts";
import { type LiveLog, type LiveState, SessionLog } from "../session-log.ts";
import type { ViewProps } from "../source.ts";
import { Refusal, type Source } from "../source.ts";
import type { Wire } from "../wire.ts";
import { CompactionsView } from "./compactions.tsx";
import { ContextOverTime } from "./context.tsx";
import { RecalledView } from "./recalled.tsx";
import { Transcript } from "./transcript.tsx";

export type SessionState = Wire<Omit<Session, "history" | "task">>;

const NAMES: Readonly<Record<SessionPart, string>> = {
  transcript: "Transcript",
  context: "Context",
  compactions: "Compactions",
  recalled: "Recalled",
};

/** One session. Its log is read once for all three parts, and followed. */
export function SessionView({
  source,
  about: whole,
  route,
}: ViewProps & { readonly route: Extract<Route, { session: string }> }) {
  const { session: id, view } = route;
  const path = `sessions/${urlPart(id)}`;
  const live = useLog(source, id);
  // The history comes with it: the first page of the log is shown before.
  const hasBegun = live.log.seq > 0;
  const session = useLoaded(hasBegun ? () => source.get<SessionState>(path) : undefined, [
    source,
    id,
    hasBegun,
    live.log.changesSeen,
  ]);
  // The user-wide store is only shown beside a project.
  const isElsewhere = session.value?.store === "user";
  const about = isElsewhere ? { ...whole, writes: false } : whole;
  const title = session.value?.source.title ?? live.log.rows.find(({ kind }) => kind === "said");
  const shown = typeof title === "object" && title.kind === "said" ? title.text : title;
  const compactions = live.log.changes.length + live.log.recorded.all.length;
  return (
    <div class="view">
      <Title>{headOf(typeof shown === "string" ? shown : id, 110) || plain(id)}</Title>
      <p class="facts">{session.value && <Facts session={session.value} live={live.state} />}</p>
      <Failure error={session.error ?? live.error} />
      <nav class="tabs" aria-label="Parts of the session">
        {SESSION_PARTS.map((part) => (
          <a key={part} href={hrefOf(id, part)} aria-current={part === view ? "page" : undefined}>
            {NAMES[part]}
            {part === "compactions" && compactions > 0 && <span class="count">{compactions}</span>}
          </a>
        ))}
      </nav>
      {view === "transcript" && (
        <Transcript source={source} about={about} live={live} session={id} seq={route.seq} />
      )}
      {view === "context" && <ContextOverTime source={source} log={live.log} session={id} />}
      {view === "compactions" && (
        <CompactionsView
          source={source}
          about={about}
          log={live.log}
          session={id}
          seq={route.seq}
          onChanged={session.reload}
        />
      )}
      {view === "recalled" && (
        <RecalledView source={source} about={about} log={live.log} session={id} seq={route.seq} />
      )}
    </div>
  );
}

function Facts({ session, live }: { readonly session: SessionState; readonly live: LiveState }) {
  const { source, model, turns, usage, updated_at, session_id, archived, forks, is_active } =
    session;
  return (
    <>
      <Badge tone="agent">{plain(source.agent)}</Badge>
      {archived && <Badge>archived</Badge>}
      {session.store === "user" && (
        <span title="rkat inspect --scope user --write changes it">
          <Badge>user-wide, read only here</Badge>
        </span>
      )}
      {live !== "read" && <Badge tone={live === "live" ? "live" : ""}>{STATES[live]}</Badge>}
      {is_active && <Badge tone="live">a turn runs</Badge>}
      <Time at={updated_at} />
      <span>{many(turns, "turn")}</span>
      {(source.model ?? model) !== "" && <span>{plain(source.model ?? model)}</span>}
      {usage.input_tokens > 0 && (
        <a href={hrefOf(session_id, "context")} title="What it cost, and what compactions saved">
          {amount(usage.input_tokens)} tokens in, {amount(usage.output_tokens)} out
        </a>
      )}
      {source.project && <span class="path">{plain(source.project)}</span>}
      {source.branch && <span class="path">{plain(source.branch)}</span>}
      {source.parent && (
        <a href={hrefOf(source.parent.id, "transcript", source.parent.event)}>
          {source.parent.relation} of {headOf(source.parent.id, 24)}
        </a>
      )}
      {forks?.map((fork) => (
        <a key={fork.session_id} href={hrefOf(fork.session_id)}>
          fork at event {fork.event}
        </a>
      ))}
      <code class="id">{plain(session_id)}</code>
    </>
  );
}

const STATES: Readonly<Record<Exclude<LiveState, "read">, string>> = {
  loading: "loading",
  live: "live",
  looks: "looks every 2 s: other tabs are live",
  paused: "paused",
  lost: "connection lost",
};

/** Events of a page of the log. */
const PAGE = 1000;
/** A browser opens six connections to a server. Streams may have four of them, in all tabs together. */
const STREAMS = 4;
const AGAIN_MS = 2000;

/** The log of a session, which grows while the session does and the page is in sight. */
function useLog(source: Source, id: string): LiveLog {
  const [log, setLog] = useState(() => new SessionLog());
  const [, repaint] = useReducer((times: number, _: undefined) => times + 1, 0);
  const [state, setState] = useState<LiveState>("loading");
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    let isAsked = false;
    const paint = () => {
      isAsked = false;
      repaint(undefined);
    };
    const onEvents = (events: readonly EventEnvelope[]) => {
      if (log.isOutdatedBy(events)) return setLog(new SessionLog());
      for (const event of events) log.push(event);
      if (!isAsked) requestAnimationFrame(paint);
      isAsked = true;
    };
    const reading = { log, onEvents, source, id };
    const work = source.isLive
      ? follow(reading, signal, setState)
      : readOn(reading, signal).then(() => setState("read"));
    work.catch((failure: unknown) => {
      if (signal.aborted) return;
      setError(failure);
      const isGone = failure instanceof Refusal && failure.status === 404;
      if (isGone && log.seq > 0) setLog(new SessionLog());
    });
    return () => ended.abort();
  }, [source, id, log]);
  return { log, state, error };
}

interface Reading {
  readonly source: Source;
  readonly id: string;
  readonly log: SessionLog;
  readonly onEvents: (events: readonly EventEnvelope[]) => void;
}

/** Reads the log to its end. */
async function readOn({ source, id, log, onEvents }: Reading, ended: AbortSignal): Promise<void> {
  for (let hasMore = true; hasMore && !ended.aborted; ) {
    const { events, after, last_seq } = await source.log(id, log.seq, PAGE);
    log.begin(last_seq);
    if (!ended.aborted) onEvents(events);
    hasMore = after && events.length > 0;
  }
  log.isWhole = !ended.aborted;
}

/** Reads the log, and holds a stream while the page is in sight. Without one of the streams it looks again and again. */
async function follow(
  reading: Reading,
  ended: AbortSignal,
  tell: (state: LiveState) => void,
): Promise<void> {
  const { source, id, log, onEvents } = reading;
  while (!ended.aborted) {
    if (document.hidden) {
      tell("paused");
      await changed(ended);
      continue;
    }
    const hidden = new AbortController();
    const onChange = () => document.hidden && hidden.abort();
    document.addEventListener("visibilitychange", onChange);
    const signal = AbortSignal.any([ended, hidden.signal]);
    try {
      await readOn(reading, signal);
      const isMine = await withStream(async () => {
        tell("live");
        await source.follow(id, log.seq, onEvents, signal);
      });
      tell(isMine ? "lost" : "looks");
    } catch (error) {
      if (error instanceof Refusal && error.isFinal) throw error;
      tell("lost");
    } finally {
      document.removeEventListener("visibilitychange", onChange);
    }
    if (!hidden.signal.aborted) await pause(AGAIN_MS, ended);
  }
}

/** Runs `work` while this tab has one of the streams. False when other tabs have all of them. */
async function withStream(work: () => Promise<void>): Promise<boolean> {
  for (let at = 0; at < STREAMS; at += 1) {
    const isMine = await navigator.locks.request(
      `rkat-stream-${at}`,
      { ifAvailable: true },
      async (lock) => {
        if (lock) await work();
        return lock !== null;
      },
    );
    if (isMine) return true;
  }
  return false;
}

function changed(ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true, signal: ended });
    ended.addEventListener("abort", () => resolve(), { once: true });
  });
}

function pause(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    ended.addEventListener("abort", end, { once: true });
  });
}
