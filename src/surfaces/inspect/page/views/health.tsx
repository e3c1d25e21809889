import { useEffect, useState } from "preact/hooks";
import type { MemoryStats } from "../../../../core/memory-store.ts";
import type { SessionSummary } from "../../../../core/operations/sessions.ts";
import {
  amount,
  Badge,
  bytes,
  clock,
  Failure,
  Field,
  Meter,
  many,
  plain,
  short,
  Title,
  useLoaded,
} from "../parts.tsx";
import { Plot } from "../plot.tsx";
import type { Finding, ShowsUsers, Source, ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";

type Stats = Wire<MemoryStats>;

/** How large everything is, what is behind, and whether all of it is sound. */
export function HealthView({ source, about, onUser }: ViewProps & ShowsUsers) {
  const { samples, error } = useSamples(source);
  const capabilities = useLoaded(
    () => source.get<{ capabilities: readonly string[] }>("capabilities"),
    [source],
  );
  const now = samples.at(-1)?.stats;
  return (
    <div class="view">
      <Title>Health</Title>
      <Failure error={error ?? capabilities.error} />
      <div class="scroll">
        <dl class="facts-list">
          <dt>Project</dt>
          <dd>{plain(about.project ?? "unknown")}</dd>
          <dt>rkat</dt>
          <dd>{plain(about.version ?? "unknown")}</dd>
          <dt>It has</dt>
          <dd>{capabilities.value?.capabilities.join(", ")}</dd>
          <Sizes stats={now} />
        </dl>
        {about.checks && <Check source={source} />}
        {about.users && <Users onUser={onUser} />}
        <Use source={source} />
        {samples.length > 1 && <Memory samples={samples} />}
      </div>
    </div>
  );
}

/** The rows have their places before the sizes are known: what is below them does not move under a click. */
function Sizes({ stats }: { readonly stats: Stats | undefined }) {
  return (
    <>
      <dt>Entries of memory</dt>
      <dd>{stats && `${amount(stats.entries)}, of ${many(stats.sessions, "session")}`}</dd>
      <dt>Their text</dt>
      <dd>{stats && bytes(stats.text_bytes)}</dd>
      <dt>Index</dt>
      <dd>
        {stats && plain(stats.index)}
        {stats?.disk_bytes !== undefined && `, ${bytes(stats.disk_bytes)} on the disk`}
      </dd>
      <dt>Vectors</dt>
      <dd>{stats && <Vectors vectors={stats.vectors} />}</dd>
    </>
  );
}

function Vectors({ vectors }: { readonly vectors: Stats["vectors"] | undefined }) {
  if (!vectors) return <>none</>;
  const { embedded, pending } = vectors;
  return (
    <>
      {plain(vectors.embedder)}: {amount(embedded)} made, {amount(pending)} are still to be made{" "}
      <Meter label="Vectors made" used={embedded} of={embedded + pending} />
    </>
  );
}

/** Each user has sessions and memory of their own. Nobody else's view has them, the owner's included. */
function Users({ onUser }: ShowsUsers) {
  const [user, setUser] = useState("");
  return (
    <section aria-labelledby="users">
      <h2 id="users">Users</h2>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          if (user.trim() !== "") onUser(user.trim());
        }}
      >
        <Field
          label="Look as this user"
          value={user}
          autoComplete="off"
          onInput={(event) => setUser(event.currentTarget.value)}
        />
        <button type="submit">Look</button>
      </form>
    </section>
  );
}

const TONES = { good: "kept", note: "quoted", wrong: "bad" } as const;

/** The findings of `rkat doctor`. It reads the whole store, so a button starts it. */
function Check({ source }: { readonly source: Source }) {
  const [asked, setAsked] = useState(0);
  const { value, error } = useLoaded(
    asked === 0
      ? undefined
      : () => source.get<{ readonly findings: readonly Finding[] }>("inspect/check"),
    [asked],
  );
  const [seen, setSeen] = useState(0);
  useEffect(() => setSeen(asked), [value, error]);
  const isRunning = asked > seen;
  const wrong = value?.findings.filter(({ state }) => state === "wrong").length ?? 0;
  return (
    <section aria-labelledby="check">
      <h2 id="check">Is everything sound?</h2>
      <div class="bar">
        <button type="button" disabled={isRunning} onClick={() => setAsked(asked + 1)}>
          {value ? "Check again" : "Check everything"}
        </button>
        <span role="status">
          {isRunning
            ? "It reads the store, and compares memory with the log…"
            : value &&
              (wrong === 0
                ? "Everything is sound."
                : wrong === 1
                  ? "One thing is wrong."
                  : `${amount(wrong)} things are wrong.`)}
        </span>
      </div>
      <Failure error={error} />
      {value && (
        <table>
          <caption class="unseen">Findings</caption>
          <tbody>
            {value.findings.map(({ name, state, detail }) => (
              <tr key={`${name} ${detail}`}>
                <td>
                  <Badge tone={TONES[state]}>{state}</Badge>
                </td>
                <th scope="row">{plain(name)}</th>
                <td>{plain(detail)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const DAYS = 30;
const DAY_MS = 86_400_000;
/** Sessions that are counted. A project with more of them in a month shows the newest. */
const COUNTED = 1000;

interface Day {
  readonly day: string;
  sessions: number;
  tokens: number;
}

/** How much was done on each of the last days. */
function Use({ source }: { readonly source: Source }) {
  const { value, error } = useLoaded(() => usedDays(source), [source]);
  if (!value) return <Failure error={error} />;
  const sessions = value.reduce((sum, day) => sum + day.sessions, 0);
  const last = value.filter((day) => day.sessions > 0);
  return (
    <section aria-labelledby="use">
      <h2 id="use">The last {DAYS} days</h2>
      <Plot
        label={`${sessions === 1 ? "1 session was" : `${amount(sessions)} sessions were`} used in ${DAYS} days, on ${last.length} of them.`}
        points={value.map((day) => ({ value: day.sessions }))}
        caption="Sessions by the day on which they were used last."
      >
        <table>
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col" class="number">
                Sessions
              </th>
              <th scope="col" class="number">
                Their tokens
              </th>
            </tr>
          </thead>
          <tbody>
            {last.toReversed().map((day) => (
              <tr key={day.day}>
                <th scope="row">{day.day}</th>
                <td class="number">{amount(day.sessions)}</td>
                <td class="number">{short(day.tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Plot>
    </section>
  );
}

async function usedDays(source: Source): Promise<readonly Day[]> {
  const { sessions } = await source.get<{ sessions: readonly Wire<SessionSummary>[] }>("sessions", {
    limit: COUNTED,
    include_archived: true,
  });
  const days = Array.from({ length: DAYS }, (_, at): Day => {
    const day = new Date(Date.now() - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    return { day, sessions: 0, tokens: 0 };
  });
  const byDay = new Map(days.map((day) => [day.day, day]));
  for (const { updated_at, total_tokens } of sessions) {
    const day = byDay.get(updated_at.slice(0, 10));
    if (!day) continue;
    day.sessions += 1;
    day.tokens += total_tokens;
  }
  return days;
}

interface Sample {
  readonly time: number;
  readonly stats: Stats;
}

/** Looked at since the page was opened, the oldest first, for each view of a user. */
const lookedAt = new WeakMap<Source, Sample[]>();
const EVERY_MS = 10_000;
const SAMPLES_MAX = 500;

function useSamples(source: Source) {
  const [again, look] = useState(0);
  const looked = lookedAt.get(source) ?? [];
  lookedAt.set(source, looked);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || look((times) => times + 1), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const { value, error } = useLoaded(async () => {
    const stats = await source.get<Stats>("memory/stats");
    looked.push({ time: Date.now(), stats });
    if (looked.length > SAMPLES_MAX) looked.shift();
    return [...looked];
  }, [source, again]);
  return { samples: value ?? looked, error };
}

/** Memory while the page is open: how it grows, and how its backlog shrinks. */
function Memory({ samples }: { readonly samples: readonly Sample[] }) {
  const isEmbedding = samples.some(({ stats }) => (stats.vectors?.pending ?? 0) > 0);
  const of = ({ stats }: Sample) => (isEmbedding ? (stats.vectors?.pending ?? 0) : stats.entries);
  const what = isEmbedding ? "vectors that are still to be made" : "entries of memory";
  const first = samples[0];
  return (
    <section aria-labelledby="memory-now">
      <h2 id="memory-now">Since {first ? clock(first.time) : ""}</h2>
      <Plot
        label={`${amount(samples.length)} looks at the ${what}.`}
        points={samples.map((sample) => ({ value: of(sample) }))}
        caption={`The ${what}, every ${EVERY_MS / 1000} s while you look.`}
      >
        <table>
          <tbody>
            {samples.slice(-50).map((sample) => (
              <tr key={sample.time}>
                <th scope="row">{clock(sample.time)}</th>
                <td class="number">{amount(of(sample))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Plot>
    </section>
  );
}
