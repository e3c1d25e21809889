import { useState } from "preact/hooks";
import type { SourcesView } from "../../../../core/operations/sources.ts";
import { amount, Badge, Failure, headOf, Time, useLoaded, whoSaid } from "../parts.tsx";
import { askingFor, hrefOf } from "../route.ts";
import type { Source } from "../source.ts";
import type { Wire } from "../wire.ts";

/** An entry of memory, a record, a fact, a correction, a preference or a rule; or the summary of a compaction. */
export type Sourced =
  | { readonly id: string }
  | { readonly session_id: string; readonly event: number };

type View = Wire<SourcesView>;

export type SourceOf = View["messages"][number];

/** Messages that one click asks for. */
const PAGE = 100;

/** The messages that something rests on, asked for when it is opened: over all summaries in between, as they were said. */
export function Sources({
  source,
  of,
  onFound,
}: {
  readonly source: Source;
  readonly of: Sourced;
  readonly onFound?: (messages: readonly SourceOf[]) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [shown, setShown] = useState(PAGE);
  const { value, error } = useLoaded(
    isOpen
      ? async () => {
          const view = await readSources(source, of, shown);
          onFound?.(view.messages);
          return view;
        }
      : undefined,
    [source, JSON.stringify(of), isOpen, shown],
  );
  const left = value ? value.message_count - value.messages.length : 0;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Where does this come from?</summary>
      <Failure error={error} />
      {value && value.made_from.length > 0 && (
        <>
          <p class="quiet">It was made from:</p>
          <ul>
            {value.made_from.map(({ id, kind, content }) => (
              <li key={id}>
                <Badge tone={kind}>{kind}</Badge>{" "}
                <a href={askingFor("knowledge", { id })}>“{headOf(content, 160)}”</a>
              </li>
            ))}
          </ul>
        </>
      )}
      {value && <p class="quiet">{introOf(value)}</p>}
      <ol class="rests-on">
        {value?.messages.map((message) => (
          <li key={`${message.session_id} ${message.id}`}>
            <Badge tone={message.role}>{whoSaid(message.role)}</Badge> <Time at={message.time} />{" "}
            <a href={hrefOf(message.session_id, "transcript", message.id)}>Event {message.id}</a>{" "}
            <span dir="auto">{headOf(message.text, 300)}</span>
          </li>
        ))}
      </ol>
      {left > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + PAGE)}>
          Show more ({amount(left)} are left)
        </button>
      )}
    </details>
  );
}

function introOf({ kind, message_count: count }: View): string {
  if (kind === "added") return "It was added by hand, and rests on no message.";
  if (count === 0) return "No message that it rests on is there any more.";
  return count === 1 ? "It rests on this message:" : `It rests on ${amount(count)} messages:`;
}

/** Messages that one request asks for. */
const ASKED_MAX = 1000;

async function readSources(source: Source, of: Sourced, most: number): Promise<View> {
  const ask = (offset: number) => {
    const limit = Math.min(ASKED_MAX, most - offset);
    return source.send<View>("POST", "sources", { ...of, limit, offset });
  };
  const view = await ask(0);
  const messages = [...view.messages];
  while (messages.length < Math.min(most, view.message_count)) {
    const next = await ask(messages.length);
    if (next.messages.length === 0) break;
    messages.push(...next.messages);
  }
  return { ...view, messages };
}
