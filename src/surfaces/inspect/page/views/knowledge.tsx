import { useState } from "preact/hooks";
import type { KnowledgeEntry } from "../../../../core/knowledge.ts";
import { urlPart } from "../../../../text/url-part.ts";
import {
  amount,
  Badge,
  Choice,
  Dialog,
  Editor,
  Failure,
  headOf,
  KINDS,
  many,
  plain,
  SearchField,
  Time,
  Title,
  useLoaded,
  useWork,
  Words,
} from "../parts.tsx";
import { askingFor, hrefOf } from "../route.ts";
import type { Source, ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { Sources } from "./sources.tsx";

type Entry = Wire<KnowledgeEntry>;

const ORIGINS: Readonly<Record<KnowledgeEntry["origin"], string>> = {
  tool: "a tool's result",
  user: "you said it",
  added: "added by hand",
  model: "a model added it",
  imported: "from a transcript",
  distilled: "made of others",
};

/** The view of the project's knowledge: whose words it rests on, and what replaced what. */
export function KnowledgeView({
  source,
  about,
  asked,
}: ViewProps & { readonly asked: URLSearchParams }) {
  const only = asked.get("id");
  const [kind, setKind] = useState("");
  const [text, setText] = useState("");
  const [forgetting, setForgetting] = useState<Entry>();
  const { value, error, reload } = useLoaded<{ readonly entries: readonly Entry[] }>(
    async () =>
      only === null
        ? source.get("knowledge", { limit: 500, kind, query: text.trim() })
        : { entries: [await source.get<Entry>(pathOf({ id: only }))] },
    [kind, text, only],
  );
  const { failed, work } = useWork(reload);
  const entries = value?.entries ?? [];
  return (
    <div class="view">
      <Title>Knowledge</Title>
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
        <SearchField
          label="Search"
          placeholder="Words of an entry"
          value={text}
          onChange={setText}
        />
        <Choice
          label="Kind"
          value={kind}
          onChange={setKind}
          options={KINDS.filter(([name]) => name !== "message")}
        />
        <span class="status" role="status">
          {value ? `${many(entries.length, "entry")}, newest first` : ""}
        </span>
      </form>
      <Failure error={error ?? failed} />
      {only !== null && (
        <p>
          Only one entry is shown. <a href="#/knowledge">Show all</a>
        </p>
      )}
      {value && entries.length === 0 && (
        <p class="empty">
          {kind === "" && text === ""
            ? "The project has learned nothing yet. It learns from what you tell an agent (“never use npm”), from calls that you deny, and from results of tools."
            : "The project has learned nothing of this kind yet."}
        </p>
      )}
      <ol class="time-line scroll">
        {entries.map((entry, at) => (
          <li key={entry.id}>
            {dayOf(entry) !== dayOf(entries[at - 1]) && <h2>{dayOf(entry)}</h2>}
            <div class={entry.replaced_by === undefined ? "card" : "card replaced"}>
              <EntryCard
                source={source}
                entry={entry}
                entries={entries}
                writes={about.writes}
                onForget={setForgetting}
                onChange={(change) => work(source.send("POST", pathOf(entry), change))}
                onKeepBoth={(ids, undo) =>
                  work(source.send("POST", "memory/keep-both", { ids, undo }))
                }
              />
            </div>
          </li>
        ))}
      </ol>
      {forgetting && (
        <ForgetDialog
          entry={forgetting}
          onKeep={() => setForgetting(undefined)}
          onForget={() => {
            setForgetting(undefined);
            work(source.send("DELETE", pathOf(forgetting)));
          }}
        />
      )}
    </div>
  );
}

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "long" });

function dayOf(entry: Entry | undefined): string {
  return entry === undefined ? "" : DAY.format(new Date(entry.last_time));
}

interface CardProps {
  readonly source: Source;
  readonly entry: Entry;
  /** All that are shown. */
  readonly entries: readonly Entry[];
  readonly writes: boolean;
  readonly onForget: (entry: Entry) => void;
  readonly onChange: (change: { readonly content?: string; readonly pinned?: boolean }) => void;
  /** Says that neither of two replaces the other, or takes that back. */
  readonly onKeepBoth: (ids: readonly [string, string], undo: boolean) => void;
}

function EntryCard({ source, entry, entries, writes, onForget, onChange, onKeepBoth }: CardProps) {
  const [edited, setEdited] = useState<string>();
  const replaced = entries.filter(({ replaced_by }) => replaced_by === entry.id);
  return (
    <article>
      <span class="facts">
        <Badge tone={entry.kind}>{entry.kind}</Badge>
        {entry.pinned && <Badge>pinned</Badge>}
        {entry.edited && <Badge>edited</Badge>}
        {entry.replaced_by !== undefined && <Badge tone="bad">no longer holds</Badge>}
        <span>{ORIGINS[entry.origin]}</span>
        <Said entry={entry} />
        {entry.session_id && (
          <a href={hrefOf(entry.session_id, "transcript", entry.source?.from)}>Where it was said</a>
        )}
      </span>
      {edited === undefined ? (
        <Words text={entry.content} />
      ) : (
        <Editor
          text={edited}
          onCancel={() => setEdited(undefined)}
          onSave={(content) => {
            setEdited(undefined);
            onChange({ content });
          }}
        />
      )}
      {entry.reason && <p class="quiet">Because: {plain(entry.reason)}</p>}
      {entry.replaced_by !== undefined && (
        <Linked
          text="A newer statement says otherwise, and holds:"
          id={entry.replaced_by}
          entries={entries}
        />
      )}
      {keptBeside(entry, entries).map((id) => (
        <Linked key={id} text="You said that this holds too:" id={id} entries={entries} />
      ))}
      {replaced.map(({ id }) => (
        <Linked key={id} text="It replaced:" id={id} entries={entries} />
      ))}
      <Sources source={source} of={{ id: entry.id }} />
      {writes && edited === undefined && (
        <div class="bar">
          {[entry.replaced_by ?? []].flat().map((id) => (
            <button type="button" key={id} onClick={() => onKeepBoth([entry.id, id], false)}>
              Both hold
            </button>
          ))}
          {keptBeside(entry, entries).map((id) => (
            <button type="button" key={id} onClick={() => onKeepBoth([entry.id, id], true)}>
              Not both
            </button>
          ))}
          <button type="button" onClick={() => onChange({ pinned: !entry.pinned })}>
            {entry.pinned ? "Unpin" : "Pin"}
          </button>
          <button type="button" onClick={() => setEdited(entry.content)}>
            Edit
          </button>
          <button type="button" class="danger" onClick={() => onForget(entry)}>
            Forget…
          </button>
        </div>
      )}
    </article>
  );
}

/** The entries beside which a person keeps one. The decision stands in either of the two. */
function keptBeside(entry: Entry, entries: readonly Entry[]): readonly string[] {
  const now = ({ keeps = [] }: Entry) => keeps.filter(({ until }) => until === undefined);
  const others = entries.filter((other) => now(other).some(({ id }) => id === entry.id));
  return [...new Set([...now(entry), ...others].map(({ id }) => id))];
}

/** When it was said first and last. */
function Said({ entry: { count, time, last_time } }: { readonly entry: Entry }) {
  if (count < 2) return <Time at={last_time} />;
  return (
    <span>
      said {amount(count)} times, first <Time at={time} />, last <Time at={last_time} />
    </span>
  );
}

function Linked({
  text,
  id,
  entries,
}: {
  readonly text: string;
  readonly id: string;
  readonly entries: readonly Entry[];
}) {
  const other = entries.find((one) => one.id === id);
  return (
    <p class="quiet">
      {text}{" "}
      <a href={askingFor("knowledge", { id })}>
        {other ? `“${headOf(other.content, 120)}”` : plain(id)}
      </a>
      {other && (
        <>
          , <Time at={other.last_time} />
        </>
      )}
    </p>
  );
}

function ForgetDialog({
  entry,
  onKeep,
  onForget,
}: {
  readonly entry: Entry;
  readonly onKeep: () => void;
  readonly onForget: () => void;
}) {
  return (
    <Dialog title="Forget this, and never learn it again?" onClose={onKeep}>
      <Words text={entry.content} />
      <p>
        Its text is deleted everywhere: here, in memory, and in the logs of sessions. Rules that
        rest on it are made again without it. It cannot be undone.
      </p>
      <div class="bar">
        <button type="button" onClick={onKeep}>
          Keep
        </button>
        <button type="button" class="danger" onClick={onForget}>
          Forget for good
        </button>
      </div>
    </Dialog>
  );
}

function pathOf({ id }: Pick<Entry, "id">): string {
  return `knowledge/${urlPart(id)}`;
}
