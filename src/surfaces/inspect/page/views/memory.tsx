import { useState } from "preact/hooks";
import type { MemoryForgotten } from "../../../../core/operations/memory.ts";
import {
  amount,
  Choice,
  Dialog,
  Failure,
  Field,
  headOf,
  KINDS,
  many,
  plain,
  Title,
  useLoaded,
  useWork,
} from "../parts.tsx";
import { askingFor } from "../route.ts";
import type { Source, ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { type Entry, EntryCard } from "./memory-entry.tsx";

const PAGE = 100;
/** The session that stands for what was added by hand. */
const NOTES = "added";

/** The view of memory, page by page, and forgetting. */
export function MemoryView({
  source,
  about,
  asked,
}: ViewProps & { readonly asked: URLSearchParams }) {
  const [kind, setKind] = useState("");
  const [session, setSession] = useState(asked.get("session") ?? "");
  const only = asked.get("id") ?? undefined;
  const [pages, setPages] = useState<readonly string[]>([]);
  const [chosen, setChosen] = useState<ReadonlyMap<string, Entry>>(new Map());
  const [isAsking, setAsking] = useState(false);
  const [isMarked, setMarked] = useState(false);
  const after = pages.at(-1);
  const { value, error, reload } = useLoaded(
    () =>
      source.get<{ entries: readonly Entry[] }>("memory", {
        limit: PAGE,
        ...(kind === NOTES ? { session_id: NOTES } : { kind, session_id: session.trim() }),
        after,
        id: only,
        ...(isMarked ? { marked: true } : {}),
      }),
    [kind, session, after, only, isMarked],
  );
  const { failed, work } = useWork(reload);
  const entries = value?.entries ?? [];
  const filter = (change: () => void) => {
    setPages([]);
    change();
  };
  const toggle = (entry: Entry) => {
    const next = new Map(chosen);
    if (!next.delete(entry.id)) next.set(entry.id, entry);
    setChosen(next);
  };
  return (
    <div class="view">
      <Title>Memory</Title>
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Kind"
          value={kind}
          onChange={(next) => filter(() => setKind(next))}
          options={[...KINDS, [NOTES, "added by hand"]]}
        />
        <Field
          label="Session"
          type="search"
          placeholder="a whole id"
          value={session}
          onInput={(event) => filter(() => setSession(event.currentTarget.value))}
        />
        <label class="field">
          <input
            type="checkbox"
            checked={isMarked}
            onChange={() => filter(() => setMarked(!isMarked))}
          />
          Pinned or edited
        </label>
        <button
          type="button"
          disabled={pages.length === 0}
          onClick={() => setPages(pages.slice(0, -1))}
        >
          Earlier
        </button>
        <button
          type="button"
          disabled={entries.length < PAGE}
          onClick={() => setPages([...pages, entries.at(-1)?.id ?? ""])}
        >
          Later
        </button>
        {about.writes ? (
          <button
            type="button"
            class="danger"
            disabled={chosen.size === 0}
            onClick={() => setAsking(true)}
          >
            Forget {chosen.size > 0 ? amount(chosen.size) : ""}…
          </button>
        ) : (
          <span class="quiet">
            To forget, correct or pin something, open the page with --write.
          </span>
        )}
        <span class="status" role="status">
          {value && shownText(pages.length * PAGE, entries.length)}
        </span>
      </form>
      <Failure error={error ?? failed} />
      {only && (
        <p>
          Only one entry is shown. <a href="#/memory">Show all</a>
        </p>
      )}
      <ul class="entries scroll">
        {entries.map((entry) => (
          <li key={entry.id} class="card">
            <EntryCard
              source={source}
              entry={entry}
              writes={about.writes}
              isChosen={chosen.has(entry.id)}
              onChoose={() => toggle(entry)}
              onForget={() => {
                setChosen(new Map([[entry.id, entry]]));
                setAsking(true);
              }}
              onChange={(change) =>
                work(
                  source
                    .send<Entry>("POST", "memory/edit", { id: entry.id, ...change })
                    .then((now) => {
                      // A corrected entry has another id.
                      if (only !== undefined) location.hash = askingFor("memory", { id: now.id });
                    }),
                )
              }
            />
          </li>
        ))}
      </ul>
      {value && entries.length === 0 && <p class="empty">Memory has nothing here.</p>}
      {isAsking && (
        <Forget
          source={source}
          entries={[...chosen.values()]}
          onClose={() => {
            setAsking(false);
            setChosen(new Map());
            reload();
          }}
          onCancel={() => setAsking(false)}
        />
      )}
    </div>
  );
}

/** The line that says which entries a page shows. A full one says that it may not be all. */
function shownText(before: number, count: number): string {
  if (before + count < PAGE) return many(count, "entry");
  return `entries ${amount(before + 1)} to ${amount(before + count)}`;
}

interface ForgetProps {
  readonly source: Source;
  readonly entries: readonly Entry[];
  readonly onClose: () => void;
  readonly onCancel: () => void;
}

/** The dialog that forgets: what goes, then a question, then the receipt. */
function Forget({ source, entries, onClose, onCancel }: ForgetProps) {
  const [receipt, setReceipt] = useState<Wire<MemoryForgotten>>();
  const [error, setError] = useState<unknown>();
  const [typed, setTyped] = useState("");
  const isCounted = entries.length < 2 || typed.trim() === String(entries.length);
  const forget = async () => {
    try {
      setReceipt(await source.send("POST", "memory/forget", { ids: entries.map(({ id }) => id) }));
    } catch (failure) {
      setError(failure);
    }
  };
  if (receipt) return <Receipt receipt={receipt} onClose={onClose} />;
  return (
    <Dialog
      title={entries.length === 1 ? "Forget this?" : `Forget these ${entries.length}?`}
      onClose={onCancel}
    >
      <p>
        Their texts are deleted from memory, from the index and from the logs of{" "}
        {many(new Set(entries.map(({ session_id }) => session_id)).size, "session")}: messages,
        summaries, windows and tool output. What was learned from them goes too. It cannot be
        undone.
      </p>
      <ul class="preview">
        {entries.slice(0, 50).map(({ id, content }) => (
          <li key={id}>{headOf(content, 160)}</li>
        ))}
      </ul>
      {entries.length > 50 && <p>and {amount(entries.length - 50)} more</p>}
      {entries.length > 1 && (
        <Field
          label={`Type ${entries.length} to go on`}
          value={typed}
          autoComplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      )}
      <Failure error={error} />
      <div class="bar">
        <button type="button" onClick={onCancel}>
          Keep
        </button>
        <button type="button" class="danger" disabled={!isCounted} onClick={() => void forget()}>
          Forget for good
        </button>
      </div>
    </Dialog>
  );
}

function Receipt({
  receipt,
  onClose,
}: {
  readonly receipt: Wire<MemoryForgotten>;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title="Receipt" onClose={onClose}>
      <p role="status">{amount(receipt.forgotten)} forgotten.</p>
      <table>
        <caption>Cleaned</caption>
        <tbody>
          {receipt.cleaned.map(({ place, count }) => (
            <tr key={place}>
              <th scope="row">{place.replaceAll("_", " ")}</th>
              <td class="number">{amount(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {receipt.not_cleaned.length > 0 && (
        <>
          <h3>Not cleaned</h3>
          <ul>
            {receipt.not_cleaned.map(({ place, why }) => (
              <li key={place}>
                <strong>{place.replaceAll("_", " ")}</strong>: {plain(why)}
              </li>
            ))}
          </ul>
        </>
      )}
      {receipt.not_found.length > 0 && (
        <p>Not there any more: {receipt.not_found.slice(0, 20).map(plain).join(", ")}</p>
      )}
      {receipt.remaining_count > 0 && (
        <p>
          Others that say the same or have one of its names ({amount(receipt.remaining_count)}):{" "}
          {receipt.remaining.slice(0, 5).map(plain).join(", ")}
        </p>
      )}
      <div class="bar">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
