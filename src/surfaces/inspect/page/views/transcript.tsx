import { useMemo, useState } from "preact/hooks";
import { changeIn } from "../file-change.ts";
import {
  amount,
  Badge,
  Choice,
  clock,
  Field,
  headOf,
  many,
  plain,
  SearchField,
  Words,
} from "../parts.tsx";
import { hrefOf } from "../route.ts";
import {
  type LiveLog,
  type Row,
  type SessionLog,
  saidAndAnswered,
  type ToolRow,
} from "../session-log.ts";
import type { ViewProps } from "../source.ts";
import { VirtualList } from "../virtual-list.tsx";
import { Change } from "./change.tsx";
import { MessageTraceView } from "./message-trace.tsx";
import { Recalled } from "./records.tsx";

/** The messages and calls of a session, in order. */
export function Transcript({
  source,
  about,
  live,
  session,
  seq,
}: ViewProps & {
  readonly live: LiveLog;
  readonly session: string;
  readonly seq: number | undefined;
}) {
  const { log } = live;
  const [which, setWhich] = useState("all");
  const [text, setText] = useState("");
  const [follows, setFollows] = useState(false);
  const [open] = useState(() => new Set<string>());
  const length = log.rows.length;
  const rows = useMemo(() => {
    const chosen = which === "words" ? saidAndAnswered(log.rows) : log.rows;
    const wanted = text.trim().toLowerCase();
    return wanted === ""
      ? chosen
      : chosen.filter((row) => textOfRow(row).toLowerCase().includes(wanted));
  }, [log, length, which, text]);
  const shown = useMemo(() => {
    if (seq === undefined || log.seq < seq) return undefined;
    // A message's id is the `seq` of its last event, which has no row of its own where a model said it.
    return Math.max(
      0,
      rows.findLastIndex((row) => row.seq <= seq),
    );
  }, [rows, seq, log.seq]);
  return (
    <>
      <div class="bar">
        <SearchField
          label="Find in this session"
          placeholder="Find in this session"
          value={text}
          onChange={setText}
        />
        <Choice
          label="Show"
          value={which}
          onChange={setWhich}
          options={[
            ["all", "everything"],
            ["words", "what people said, and final answers"],
          ]}
        />
        <Field
          label="Stay at the end"
          type="checkbox"
          checked={follows}
          onChange={(event) => setFollows(event.currentTarget.checked)}
        />
        <span class="status" role="status">
          {rows.length === log.rows.length
            ? amount(rows.length)
            : `${amount(rows.length)} of ${amount(log.rows.length)}`}{" "}
          rows
        </span>
      </div>
      <div class="fill">
        {rows.length > 0 && (
          <VirtualList
            key={which}
            label="Transcript"
            items={rows}
            keyOf={({ id }) => id}
            rowHeight={64}
            follows={follows}
            {...(shown === undefined ? {} : { shown })}
            render={(row, at) => (
              <RowView
                row={row}
                source={source}
                about={about}
                log={log}
                session={session}
                isMarked={at === shown}
                open={open}
              />
            )}
          />
        )}
      </div>
      {log.streaming !== "" && (
        <div class="streaming" aria-hidden="true">
          <span class="who">writes</span>
          <p class="words">{plain(log.streaming.slice(-600))}</p>
        </div>
      )}
    </>
  );
}

function textOfRow(row: Row): string {
  switch (row.kind) {
    case "tool":
      return `${row.name} ${JSON.stringify(row.args)} ${row.result ?? ""}`;
    case "compacted":
      return row.event.summary ?? "";
    case "recalled":
      return row.event.records.map(({ text }) => text).join(" ");
    default:
      return row.text;
  }
}

interface RowProps extends ViewProps {
  readonly row: Row;
  readonly log: SessionLog;
  readonly session: string;
  readonly isMarked: boolean;
  /** The rows that you opened. They stay open when they leave the document. */
  readonly open: Set<string>;
}

function RowView({ isMarked, ...props }: RowProps) {
  const { row, session, source, about, log, open } = props;
  const { message } = row;
  const trace = `trace ${message}`;
  const [isTraced, setTraced] = useState(open.has(trace));
  const toggle = () => {
    if (!open.delete(trace)) open.add(trace);
    setTraced(open.has(trace));
  };
  return (
    <article class={`row ${row.kind} ${isMarked ? "marked" : ""}`}>
      <a class="when" href={hrefOf(session, "transcript", row.seq)} title={`Event ${row.seq}`}>
        <span class="unseen">Event {row.seq}, </span>
        {clock(row.time)}
      </a>
      <div class="what">
        <RowContent {...props} />
        {isTraced && message !== undefined && (
          <MessageTraceView
            source={source}
            about={about}
            session={session}
            message={message}
            since={log.seq}
          />
        )}
      </div>
      {message !== undefined && !about.exported && (
        <button
          type="button"
          class="trace-of"
          aria-expanded={isTraced}
          aria-label={`What became of message ${message}`}
          title="What became of it"
          onClick={toggle}
        >
          ⋯
        </button>
      )}
    </article>
  );
}

function RowContent({ row, source, about, log, session, open }: Omit<RowProps, "isMarked">) {
  switch (row.kind) {
    case "said":
      return (
        <>
          <span class="who">{plain(row.who)}</span>
          <Words text={row.text} />
        </>
      );
    case "answer":
      return (
        <>
          <span class="who">model</span>
          <Words text={row.text} />
        </>
      );
    case "thought":
      return (
        <Fold id={row.id} open={open} name="thought" head={headOf(row.text, 120)}>
          {() => <Words text={row.text} />}
        </Fold>
      );
    case "tool":
      return <Tool row={row} open={open} />;
    case "recalled":
      return (
        <Fold
          id={row.id}
          open={open}
          name="recalled"
          head={`${many(row.event.records.length, "record")} of memory, ${many(row.event.tokens, "token")}`}
        >
          {() => (
            <Recalled source={source} about={about} session={session} log={log} recall={row} />
          )}
        </Fold>
      );
    case "compacted":
      return (
        <p class="compaction">
          <Badge tone="compaction">compacted</Badge> {amount(row.event.tokens_before)} →{" "}
          {amount(row.event.tokens_after)} tokens, {many(row.event.discarded_messages, "message")}{" "}
          left the window. <a href={hrefOf(session, "compactions", row.seq)}>What it dropped</a>
        </p>
      );
    case "recorded":
      return (
        <>
          <p class="compaction">
            <Badge tone="compaction">compacted</Badge> The agent that had this session compacted its
            window here. <a href={hrefOf(session, "compactions", row.seq)}>What it dropped</a>
          </p>
          <Fold id={row.id} open={open} name="its summary" head={headOf(row.text, 160)}>
            {() => <Words text={row.text} />}
          </Fold>
        </>
      );
    default:
      return (
        <div class={`note ${row.tone}`}>
          {row.text.length > 300 || row.text.includes("\n") ? (
            <Fold id={row.id} open={open} name="" head={headOf(row.text, 160)}>
              {() => <Words text={row.text} />}
            </Fold>
          ) : (
            <p class="words">{plain(row.text)}</p>
          )}
        </div>
      );
  }
}

function Tool({ row, open }: { readonly row: ToolRow; readonly open: Set<string> }) {
  const state = row.waits
    ? "waits for approval"
    : row.result === undefined
      ? "runs"
      : row.isError
        ? "failed"
        : "";
  const took = row.durationMs === undefined ? "" : ` · ${amount(row.durationMs)} ms`;
  return (
    <Fold
      id={row.id}
      open={open}
      name={row.name}
      head={`${headOf(argsText(row.args), 140)}${took}`}
      badge={state && <Badge tone={row.isError ? "bad" : ""}>{state}</Badge>}
    >
      {() => {
        const change = changeIn(row.args);
        return (
          <>
            {change ? (
              <Change change={change} />
            ) : (
              <Words text={JSON.stringify(row.args, null, 2) ?? ""} mono />
            )}
            {row.result !== undefined && (
              <div class={row.isError ? "result bad" : "result"}>
                <span class="who">result</span>
                <Words text={row.result} mono />
              </div>
            )}
          </>
        );
      }}
    </Fold>
  );
}

function argsText(args: unknown): string {
  if (typeof args !== "object" || args === null) return String(args ?? "");
  return Object.values(args)
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(" · ");
}

/** A row of one line that opens. What is in it is made when it does. */
function Fold({
  id,
  open,
  name,
  head,
  badge,
  children,
}: {
  readonly id: number;
  readonly open: Set<string>;
  readonly name: string;
  readonly head: string;
  readonly badge?: preact.ComponentChildren;
  readonly children: () => preact.ComponentChildren;
}) {
  const row = `row ${id}`;
  const [isOpen, setOpen] = useState(open.has(row));
  const toggle = () => {
    if (!open.delete(row)) open.add(row);
    setOpen(open.has(row));
  };
  return (
    <>
      <button type="button" class="fold" aria-expanded={isOpen} onClick={toggle}>
        <span class="mark" aria-hidden="true" />
        {name && <strong>{plain(name)}</strong>} <span class="head">{head}</span> {badge}
      </button>
      {isOpen && <div class="inside">{children()}</div>}
    </>
  );
}
