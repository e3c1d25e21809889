import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import type { SessionView as Session } from "../../../../core/operations/sessions.ts";
import { amount, Badge, Failure, headOf, plain, Time, useLoaded } from "../parts.tsx";
import { hrefOf, type Route, SESSION_PARTS, type SessionPart } from "../route.ts";
import { type LiveLog, type LiveState, SessionLog } from "../session-log.ts";
import type { ViewProps } from "../source.ts";
import { Refusal, type Source } from "../source.ts";
import type { Wire } from "../wire.ts";
import { CompactionsView } from "./compactions.tsx";
import { ContextOverTime } from "./context.tsx";
import { Transcript } from "./transcript.tsx";

export type SessionState = Wire<Omit<Session, "history" | "task">>;

const NAMES: Readonly<Record<SessionPart, string>> = {
  transcript: "Transcript",
  context: "Context",
  compactions: "Compactions",
};

/** One session. Its log is read once for all three parts, and followed. */
export function SessionView({
  source,
  about,
  route,
}: ViewProps & { readonly route: Extract<Route, { session: string }> }) {
  const { session: id, view } = route;
  const path = `sessions/${encodeURIComponent(id)}`;
  const session = useLoaded(() => source.get<SessionState>(path), [source, id]);
  const live = useLog(source, id, session.value?.seq);
  const title = session.value?.source.title ?? live.log.rows.find(({ kind }) => kind === "said");
  const shown = typeof title === "object" && title.kind === "said" ? title.text : title;
  return (
    <div class="view">
      <h1 dir="auto">{headOf(typeof shown === "string" ? shown : id, 110)}</h1>
      {session.value && <Facts session={session.value} live={live.state} />}
      <Failure error={session.error ?? live.error} />
      <nav class="tabs" aria-label="Parts of the session">
        {SESSION_PARTS.map((part) => (
          <a key={part} href={hrefOf(id, part)} aria-current={part === view ? "page" : undefined}>
            {NAMES[part]}
            {part === "compactions" && live.log.changes.length > 0 && (
              <span class="count">{live.log.changes.length}</span>
            )}
          </a>
        ))}
      </nav>
      {view === "transcript" && <Transcript live={live} session={id} seq={route.seq} />}
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
    </div>
  );
}

function Facts({ session, live }: { readonly session: SessionState; readonly live: LiveState }) {
  const { source, model, turns, usage, updated_at, session_id, archived } = session;
  return (
    <p class="facts">
      <Badge tone="agent">{plain(source.agent)}</Badge>
      {archived && <Badge>archived</Badge>}
      <Badge tone={live === "live" ? "live" : ""}>{STATES[live]}</Badge>
      <Time at={updated_at} />
      <span>{turns === 1 ? "1 turn" : `${amount(turns)} turns`}</span>
      {model !== "" && <span>{plain(model)}</span>}
      {usage.input_tokens > 0 && (
        <span>
          {amount(usage.input_tokens)} tokens in, {amount(usage.output_tokens)} out
        </span>
      )}
      {source.project && <span class="path">{plain(source.project)}</span>}
      {source.branch && <span class="path">{plain(source.branch)}</span>}
      {source.parent && (
        <a href={hrefOf(source.parent.id)}>
          {source.parent.relation} of {headOf(source.parent.id, 24)}
        </a>
      )}
      <code class="id">{plain(session_id)}</code>
    </p>
  );
}

const STATES: Readonly<Record<LiveState, string>> = {
  loading: "loading",
  live: "live",
  still: "not live: other tabs are",
  paused: "paused",
  lost: "connection lost",
};

/** A browser opens six connections to a server. Streams may have four of them, in all tabs together. */
const STREAMS = 4;
const AGAIN_MS = 2000;

/** The log of a session, which grows while the session does and the page is in sight. */
function useLog(source: Source, id: string, target: number | undefined): LiveLog {
  const [log] = useState(() => new SessionLog());
  const [, repaint] = useReducer((times: number, _: undefined) => times + 1, 0);
  const [state, setState] = useState<LiveState>("loading");
  const [error, setError] = useState<unknown>();
  const last = useRef(target);
  last.current = target;
  useEffect(() => {
    const ended = new AbortController();
    const read = (signal: AbortSignal, isEnough?: () => boolean) =>
      readInto(log, source, id, signal, () => repaint(undefined), isEnough);
    const work = source.isLive
      ? follow(read, () => log.seq >= (last.current ?? 0), ended.signal, setState)
      : read(ended.signal);
    work.catch((failure: unknown) => ended.signal.aborted || setError(failure));
    return () => ended.abort();
  }, [source, id, log]);
  const isBehind = source.isLive && log.seq < (target ?? 1);
  return { log, state: isBehind && state === "live" ? "loading" : state, error };
}

type Read = (signal: AbortSignal, isEnough?: () => boolean) => Promise<void>;

/** Reads on in the log until it is enough or the signal ends it, and paints once for all that comes in a frame. */
async function readInto(
  log: SessionLog,
  source: Source,
  id: string,
  signal: AbortSignal,
  repaint: () => void,
  isEnough = () => false,
): Promise<void> {
  const enough = new AbortController();
  let isAsked = false;
  const paint = () => {
    isAsked = false;
    repaint();
  };
  const onEvents = (events: Parameters<Parameters<Source["events"]>[2]>[0]) => {
    for (const event of events) log.push(event);
    if (!isAsked) requestAnimationFrame(paint);
    isAsked = true;
    if (isEnough()) enough.abort();
  };
  try {
    await source.events(id, log.seq, onEvents, AbortSignal.any([signal, enough.signal]));
  } catch (error) {
    if (!enough.signal.aborted && !signal.aborted) throw error;
  }
}

/** Holds a stream while the page is in sight. Without one of the streams it reads once what there is. */
async function follow(
  read: Read,
  isWhole: () => boolean,
  ended: AbortSignal,
  tell: (state: LiveState) => void,
): Promise<void> {
  while (!ended.aborted) {
    if (document.hidden) {
      tell("paused");
      await changed(ended);
      continue;
    }
    const hidden = new AbortController();
    const onChange = () => document.hidden && hidden.abort();
    document.addEventListener("visibilitychange", onChange);
    try {
      const isMine = await withStream(async () => {
        tell("live");
        await read(AbortSignal.any([ended, hidden.signal]));
      });
      if (!isMine && !isWhole()) await read(ended, isWhole);
      tell(isMine ? "lost" : "still");
    } catch (error) {
      if (error instanceof Refusal && error.status >= 400) throw error;
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
