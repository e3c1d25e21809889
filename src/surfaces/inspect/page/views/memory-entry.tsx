import { useState } from "preact/hooks";
import type { ShownEntry } from "../../../../core/memory-store.ts";
import { Badge, Editor, headOf, Time, Words, whoSaid } from "../parts.tsx";
import { askingFor, hrefOf } from "../route.ts";
import type { Source } from "../source.ts";
import type { Wire } from "../wire.ts";
import { Origin } from "./records.tsx";
import { Sources } from "./sources.tsx";

export type Entry = Wire<ShownEntry>;

interface CardProps {
  readonly source: Source;
  readonly entry: Entry;
  readonly writes: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly onForget: () => void;
  readonly onChange: (change: { readonly content?: string; readonly pinned?: boolean }) => void;
}

/** An entry of memory, and what can be done with it. */
export function EntryCard({ source, entry, writes, isChosen, onChoose, ...does }: CardProps) {
  const { id, content, role, speaker, kind, store, time, pinned } = entry;
  return (
    <>
      <span class="facts">
        {writes && (
          <input
            type="checkbox"
            aria-label={`Choose: ${headOf(content, 60)}`}
            checked={isChosen}
            onChange={onChoose}
          />
        )}
        <Badge tone={role ?? ""}>{whoSaid(speaker ?? role ?? kind)}</Badge>
        {kind !== "message" && <Badge>{kind}</Badge>}
        {pinned && <Badge>pinned</Badge>}
        {store && <Badge>user-wide</Badge>}
        {time && <Time at={time} />}
        {!(writes && isSaid(entry)) && <Origin id={id} />}
      </span>
      <Text entry={entry} writes={writes} {...does} />
      <Earlier entry={entry} />
      <Sources source={source} of={{ id }} />
    </>
  );
}

/** The text with its buttons. What was added by hand can be corrected; what was said or learned has its own places. */
function Text({
  entry,
  writes,
  onChange,
  onForget,
}: Pick<CardProps, "entry" | "writes" | "onChange" | "onForget">) {
  const [isEdited, setEdited] = useState(false);
  if (isEdited) {
    return (
      <Editor
        text={entry.content}
        onCancel={() => setEdited(false)}
        onSave={(content) => {
          setEdited(false);
          onChange({ content });
        }}
      />
    );
  }
  return (
    <>
      <Words text={entry.content} />
      {writes && (
        <div class="bar">
          {isNote(entry) ? (
            <>
              <button type="button" onClick={() => onChange({ pinned: !entry.pinned })}>
                {entry.pinned ? "Unpin" : "Pin"}
              </button>
              <button type="button" onClick={() => setEdited(true)}>
                Edit
              </button>
            </>
          ) : (
            <Elsewhere entry={entry} />
          )}
          <button type="button" class="danger" onClick={onForget}>
            Forget…
          </button>
        </div>
      )}
    </>
  );
}

/** Whether it was added by hand. */
function isNote({ kind, session_id }: Entry): boolean {
  return kind === "message" && session_id === "added";
}

/** Whether it is a message of a session. */
function isSaid({ kind, source }: Entry): boolean {
  return kind === "message" && source !== undefined;
}

/** A message is not edited: its log would be a false one. */
function Elsewhere({ entry: { id, kind, session_id, source } }: { readonly entry: Entry }) {
  if (kind !== "message") return <a href={askingFor("knowledge", { id })}>Edit or pin it</a>;
  if (!source) return null;
  return (
    <a
      href={hrefOf(session_id, "transcript", source.to)}
      title="What was said stays as it was said. There it can be pinned, or brought back into the window."
    >
      Pin it or bring it back where it was said
    </a>
  );
}

/** Its earlier texts, the newest first. */
function Earlier({ entry: { earlier = [] } }: { readonly entry: Entry }) {
  if (earlier.length === 0) return null;
  return (
    <details>
      <summary>What it said before ({earlier.length})</summary>
      <ul class="records">
        {earlier.toReversed().map(({ id, content, until }) => (
          <li key={id + until} class="replaced">
            <span class="facts">
              until <Time at={until} />
            </span>
            <Words text={content} />
          </li>
        ))}
      </ul>
    </details>
  );
}
