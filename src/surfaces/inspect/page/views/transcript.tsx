import { useMemo, useState } from "preact/hooks";
import {
  amount,
  Badge,
  Choice,
  clock,
  Field,
  headOf,
  plain,
  SearchField,
  Words,
} from "../parts.tsx";
import { hrefOf } from "../route.ts";
import { type LiveLog, type Row, saidAndAnswered, type ToolRow } from "../session-log.ts";
import { VirtualList } from "../virtual-list.tsx";
import { Change, changeIn } from "./change.tsx";
import { Records } from "./records.tsx";

/** What was said and done, in order. */
export function Transcript({
  live,
  session,
  seq,
}: {
  readonly live: LiveLog;
  readonly session: string;
  readonly seq: number | undefined;
}) {
  const { log } = live;
  const [which, setWhich] = useState("all");
  const [text, setText] = useState("");
  const [follows, setFollows] = useState(false);
  const [open] = useState(() => new Set<number>());
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
              <RowView row={row} session={session} isMarked={at === shown} open={open} />
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

interface RowProps {
  readonly row: Row;
  readonly session: string;
  readonly isMarked: boolean;
  /** The rows that you opened. They stay open when they leave the document. */
  readonly open: Set<number>;
}

function RowView({ row, session, isMarked, open }: RowProps) {
  return (
    <article class={`row ${row.kind} ${isMarked ? "marked" : ""}`}>
      <a class="when" href={hrefOf(session, "transcript", row.seq)} title={`Event ${row.seq}`}>
        <span class="unseen">Event {row.seq}, </span>
        {clock(row.time)}
      </a>
      <div class="what">
        <RowContent row={row} session={session} open={open} />
      </div>
    </article>
  );
}

function RowContent({ row, session, open }: Omit<RowProps, "isMarked">) {
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
          head={`${row.event.records.length} records of memory, ${amount(row.event.tokens)} tokens`}
        >
          {() => <Records records={row.event.records} />}
        </Fold>
      );
    case "compacted":
      return (
        <p class="compaction">
          <Badge tone="compaction">compacted</Badge> {amount(row.event.tokens_before)} →{" "}
          {amount(row.event.tokens_after)} tokens, {amount(row.event.discarded_messages)} messages
          left the window. <a href={hrefOf(session, "compactions", row.seq)}>What it dropped</a>
        </p>
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

function Tool({ row, open }: { readonly row: ToolRow; readonly open: Set<number> }) {
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
  readonly open: Set<number>;
  readonly name: string;
  readonly head: string;
  readonly badge?: preact.ComponentChildren;
  readonly children: () => preact.ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(open.has(id));
  const toggle = () => {
    if (isOpen) open.delete(id);
    else open.add(id);
    setOpen(!isOpen);
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
