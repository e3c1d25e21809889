import { useState } from "preact/hooks";
import type { KnowledgeEntry } from "../../../../core/knowledge.ts";
import {
  amount,
  Badge,
  Choice,
  Dialog,
  Failure,
  plain,
  SearchField,
  Time,
  useLoaded,
  Words,
} from "../parts.tsx";
import { hrefOf } from "../route.ts";
import type { Source, ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";

type Entry = Wire<KnowledgeEntry>;

const ORIGINS: Readonly<Record<KnowledgeEntry["origin"], string>> = {
  tool: "a tool's result",
  user: "you said it",
  added: "added by hand",
  model: "a model added it",
  imported: "from a transcript",
  distilled: "made of others",
};

/** What the project has learned, and whose words it rests on. */
export function KnowledgeView({
  source,
  about,
  asked,
}: ViewProps & { readonly asked: URLSearchParams }) {
  const [kind, setKind] = useState("");
  const [text, setText] = useState(asked.get("q") ?? "");
  const [asking, setAsking] = useState<Entry>();
  const [failed, setFailed] = useState<unknown>();
  const { value, error, reload } = useLoaded(
    () =>
      source.get<{ entries: readonly Entry[] }>("knowledge", {
        limit: 500,
        kind,
        query: text.trim(),
      }),
    [kind, text],
  );
  const act = async (work: Promise<unknown>) => {
    try {
      await work;
      setFailed(undefined);
    } catch (failure) {
      setFailed(failure);
    }
    setAsking(undefined);
    reload();
  };
  const entries = value?.entries ?? [];
  return (
    <div class="view">
      <h1>Knowledge</h1>
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
          options={[
            ["", "all"],
            ["rule", "rules"],
            ["preference", "preferences"],
            ["correction", "corrections"],
            ["fact", "facts"],
          ]}
        />
        <span class="status" role="status">
          {value ? `${amount(entries.length)} entries` : ""}
        </span>
      </form>
      <Failure error={error ?? failed} />
      {value && entries.length === 0 && (
        <p class="empty">The project has learned nothing of this kind yet.</p>
      )}
      <ul class="entries scroll">
        {entries.map((entry) => (
          <li key={entry.id} class="card">
            <span class="facts">
              <Badge tone={entry.kind}>{entry.kind}</Badge>
              {entry.pinned && <Badge>pinned</Badge>}
              {entry.edited && <Badge>edited</Badge>}
              <span>{ORIGINS[entry.origin]}</span>
              {entry.count > 1 && <span>{amount(entry.count)} times</span>}
              <Time at={entry.last_time} />
              {entry.session_id && (
                <a href={hrefOf(entry.session_id, "transcript", entry.source?.from)}>
                  Where it was said
                </a>
              )}
            </span>
            <Words text={entry.content} />
            {entry.reason && <p class="quiet">Because: {plain(entry.reason)}</p>}
            {entry.kind === "rule" && <Grounds source={source} id={entry.id} />}
            {about.writes && (
              <div class="bar">
                <button
                  type="button"
                  onClick={() =>
                    void act(source.send("POST", pathOf(entry), { pinned: !entry.pinned }))
                  }
                >
                  {entry.pinned ? "Unpin" : "Pin"}
                </button>
                <button type="button" class="danger" onClick={() => setAsking(entry)}>
                  Forget…
                </button>
              </div>
            )}
          </li>
        ))}
      </ul>
      {asking && (
        <Dialog title="Forget this, and never learn it again?" onClose={() => setAsking(undefined)}>
          <Words text={asking.content} />
          <p>Its text is deleted everywhere. It cannot be undone.</p>
          <div class="bar">
            <button type="button" onClick={() => setAsking(undefined)}>
              Keep
            </button>
            <button
              type="button"
              class="danger"
              onClick={() => void act(source.send("DELETE", pathOf(asking)))}
            >
              Forget for good
            </button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

function pathOf({ id }: Entry): string {
  return `knowledge/${encodeURIComponent(id)}`;
}

function Grounds({ source, id }: { readonly source: Source; readonly id: string }) {
  const [isOpen, setOpen] = useState(false);
  const { value, error } = useLoaded(
    isOpen ? () => source.get<Entry>(`knowledge/${encodeURIComponent(id)}`) : undefined,
    [isOpen, id],
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Whose words it rests on</summary>
      <Failure error={error} />
      <ul>
        {value?.rests_on?.map((ground) => (
          <li key={ground.id}>
            {ground.said ? `“${plain(ground.said)}”` : "A denial without a reason"},{" "}
            {ORIGINS[ground.origin]}, <Time at={ground.time} />{" "}
            {ground.session_id && (
              <a href={hrefOf(ground.session_id, "transcript", ground.seq)}>Where</a>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
