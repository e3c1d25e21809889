import type { SessionCost } from "../../../../core/operations/cost.ts";
import type { ContextView } from "../../../../core/operations/working-memory.ts";
import { urlPart } from "../../../../text/url-part.ts";
import { amount, dollars, Failure, headOf, many, useLoaded } from "../parts.tsx";
import { Plot } from "../plot.tsx";
import { hrefOf } from "../route.ts";
import type { SessionLog, WindowPoint } from "../session-log.ts";
import type { Source } from "../source.ts";
import type { Wire } from "../wire.ts";

const PARTS: Readonly<Record<string, string>> = {
  tool_definitions: "Tool definitions",
  system_prompt: "System prompt",
  knowledge: "Learned rules",
  summary: "Summary",
  pins: "Pins",
  turns: "Turns",
  task_record: "Task record",
  recalled: "Recalled from memory",
  brought_back: "Brought back",
};

/** Where each token goes, now and over time, and what it cost. */
export function ContextOverTime({
  source,
  log,
  session,
}: {
  readonly source: Source;
  readonly log: SessionLog;
  readonly session: string;
}) {
  const { value, error } = useLoaded(
    () => source.get<Wire<ContextView>>(`sessions/${urlPart(session)}/context`),
    [source, session, log.seq],
  );
  return (
    <div class="scroll">
      <Failure error={error} />
      {value && <Now context={value} />}
      <section aria-labelledby="over-time">
        <h2 id="over-time">Over time</h2>
        <OverTime points={log.points} threshold={value?.threshold ?? null} session={session} />
      </section>
      <CostOf source={source} session={session} calls={log.points.length} />
    </div>
  );
}

/** The cost of the session, and what its compactions saved. */
function CostOf({
  source,
  session,
  calls,
}: {
  readonly source: Source;
  readonly session: string;
  readonly calls: number;
}) {
  const { value, error } = useLoaded(
    () => source.get<Wire<SessionCost>>(`sessions/${urlPart(session)}/cost`),
    [source, session, calls],
  );
  if (!value) return <Failure error={error} />;
  const { usage, compacting, recalled } = value;
  const money = (cost: number | null) => (cost ? `, ${dollars(cost)}` : "");
  return (
    <section aria-labelledby="cost">
      <h2 id="cost">Cost</h2>
      <dl class="facts-list">
        <dt>In all</dt>
        <dd>
          {many(value.calls, "model call")}:{" "}
          {usage.input_tokens === 0 ? (
            "the provider counted no tokens"
          ) : (
            <>
              {amount(usage.input_tokens)} tokens in
              {usage.cache_read_tokens === null
                ? ""
                : ` (${amount(usage.cache_read_tokens)} of them cached)`}
              , {amount(usage.output_tokens)} out{money(value.cost_usd)}
            </>
          )}
        </dd>
        <dt>Summaries</dt>
        <dd>
          {amount(compacting.summaries.usage.input_tokens)} tokens in,{" "}
          {amount(compacting.summaries.usage.output_tokens)} out
          {money(compacting.summaries.cost_usd)}
        </dd>
        <dt>Compactions saved</dt>
        <dd>
          {usage.input_tokens === 0
            ? "not known"
            : `${amount(compacting.saved_tokens)} tokens${money(compacting.saved_usd)}; ${amount(compacting.rewritten_tokens)} were read again`}
        </dd>
        <dt>Recalled records</dt>
        <dd>{amount(recalled.tokens)} tokens of all requests together</dd>
        {value.unpriced_models.length > 0 && (
          <>
            <dt>Without a price</dt>
            <dd>{value.unpriced_models.map((model) => headOf(model, 60)).join(", ")}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

function Now({ context }: { readonly context: Wire<ContextView> }) {
  const { used_tokens: used, threshold, context_window: window, compaction } = context;
  const whole = Math.max(used, threshold ?? window ?? used, 1);
  const parts = context.parts.filter(({ tokens }) => tokens > 0);
  return (
    <section aria-labelledby="now">
      <h2 id="now">Now</h2>
      <p>
        {amount(used)} tokens are in the next request
        {threshold !== null ? `; a compaction comes at ${amount(threshold)}` : ""}
        {window !== null ? `; the window has ${amount(window)}` : ""}.{" "}
        {compaction && nextText(compaction)}
      </p>
      <div class="stack" aria-hidden="true">
        {parts.map(({ name, tokens }) => (
          <span key={name} class={`part ${name}`} style={{ width: `${(tokens / whole) * 100}%` }} />
        ))}
      </div>
      <table>
        <caption class="unseen">Tokens of the next request</caption>
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col" class="number">
              Tokens
            </th>
            <th scope="col" class="number">
              Share
            </th>
            <th scope="col" class="number">
              Messages
            </th>
          </tr>
        </thead>
        <tbody>
          {parts.map(({ name, tokens, messages }) => (
            <tr key={name}>
              <th scope="row">
                <span class={`key ${name}`} aria-hidden="true" />
                {PARTS[name] ?? name}
              </th>
              <td class="number">{amount(tokens)}</td>
              <td class="number">{Math.round((tokens / Math.max(used, 1)) * 100)} %</td>
              <td class="number">{amount(messages)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function nextText(next: NonNullable<Wire<ContextView>["compaction"]>): string {
  if (next.due) return "The next model call compacts first.";
  const least =
    next.calls_left > 0
      ? `, after ${next.calls_left} more model ${next.calls_left === 1 ? "call" : "calls"} at the earliest`
      : "";
  return `By its own count, ${amount(next.tokens_left)} tokens are left until then${least}.`;
}

/** Points of the drawing. More cannot be told apart. */
const POINTS_MAX = 1200;

function OverTime({
  points: all,
  threshold,
  session,
}: {
  readonly points: readonly WindowPoint[];
  readonly threshold: number | null;
  readonly session: string;
}) {
  const points = thinned(all);
  if (points.length < 2) return <p class="empty">There are too few model calls for a plot.</p>;
  const highest = points.reduce((high, { tokens }) => Math.max(high, tokens), 1);
  // A line far above would press the curve flat.
  const limit = threshold !== null && threshold <= 2 * highest ? threshold : undefined;
  const compactions = points.filter(({ kind }) => kind === "compaction").length;
  return (
    <Plot
      label={`Tokens of ${amount(all.length)} requests, with ${compactions} compactions. The most was ${amount(highest)}.`}
      points={points.map(({ tokens, kind }) => ({ value: tokens, isDot: kind === "compaction" }))}
      limit={limit}
      caption={`Tokens of each request; the dots are compactions${limit === undefined ? "" : ", and the dashed line is where they begin"}.`}
    >
      <table>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">What</th>
            <th scope="col" class="number">
              Tokens
            </th>
          </tr>
        </thead>
        <tbody>
          {points.slice(-200).map(({ seq, kind, tokens }) => (
            <tr key={`${seq} ${kind}`}>
              <td>
                <a href={hrefOf(session, "transcript", seq)}>{seq}</a>
              </td>
              <td>{kind === "call" ? "model call" : "after a compaction"}</td>
              <td class="number">{amount(tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Plot>
  );
}

/** Every nth point, and each compaction. */
function thinned(points: readonly WindowPoint[]): readonly WindowPoint[] {
  const every = Math.ceil(points.length / POINTS_MAX);
  return points.filter(({ kind }, at) => kind === "compaction" || at % every === 0);
}
