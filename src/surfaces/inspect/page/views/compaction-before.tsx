import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Fate } from "../../../../core/operations/history.ts";
import { amount, Badge, Choice, headOf, plain, whoSaid } from "../parts.tsx";
import type { LeftMessage } from "../recorded-compactions.ts";
import { hrefOf } from "../route.ts";
import type { ViewProps } from "../source.ts";
import { VirtualList } from "../virtual-list.tsx";
import { MessageTraceView } from "./message-trace.tsx";

/** The messages before a compaction, each with what became of it. */
export function Before({
  source,
  about,
  title,
  messages,
  fates,
  session,
  last,
  inSummary,
  onSeek,
  children,
}: ViewProps & {
  /** The last event of the log. */
  readonly last: number;
  readonly title: string;
  readonly messages: readonly LeftMessage[];
  /** The words for each fate. */
  readonly fates: Readonly<Record<Fate, string>>;
  readonly session: string;
  /** The message whose words are marked in the summary. */
  readonly inSummary: number | undefined;
  readonly onSeek: (message: number | undefined) => void;
  readonly children?: ComponentChildren;
}) {
  const [fate, setFate] = useState("");
  const [traced, setTraced] = useState<number>();
  const counts = new Map<Fate, number>();
  for (const one of messages) counts.set(one.fate, (counts.get(one.fate) ?? 0) + 1);
  const shown = messages.filter((one) => fate === "" || one.fate === fate);
  return (
    <section aria-labelledby="before" class="before">
      <h2 id="before">{title}</h2>
      {children}
      <div class="bar">
        <Choice
          label="Messages"
          value={fate}
          onChange={setFate}
          options={[
            ["", `all ${messages.length}`],
            ...[...counts].map(([name, count]) => [name, `${fates[name]} (${count})`] as const),
          ]}
        />
      </div>
      <VirtualList
        label="Messages before the compaction"
        items={shown}
        keyOf={({ id }) => id}
        rowHeight={84}
        render={({ id, role, fate: where, tokens, text, names }) => (
          <article class={`row fate ${where}`}>
            <div class="what">
              <span class="facts">
                <span class="who">{whoSaid(role)}</span>
                <Badge tone={where}>{fates[where]}</Badge>
                <span class="quiet">{amount(tokens)} tokens</span>
                <a href={hrefOf(session, "transcript", id)}>Event {id}</a>
              </span>
              <span class="words">{headOf(text)}</span>
              {(where === "named" || where === "quoted") && (
                <button
                  type="button"
                  class="link"
                  aria-pressed={id === inSummary}
                  onClick={() => onSeek(id === inSummary ? undefined : id)}
                >
                  {id === inSummary ? "Unmark it in the summary" : "Mark it in the summary"}
                </button>
              )}
              {!about.exported && (
                <button
                  type="button"
                  class="link"
                  aria-expanded={id === traced}
                  onClick={() => setTraced(id === traced ? undefined : id)}
                >
                  {where === "kept" || !about.writes
                    ? "What became of it"
                    : "What became of it, and bring it back"}
                </button>
              )}
              {id === traced && (
                <MessageTraceView
                  source={source}
                  about={about}
                  session={session}
                  message={id}
                  since={last}
                />
              )}
              {where === "named" && (
                <span class="quiet">The summary has: {names.map(plain).join(", ")}</span>
              )}
            </div>
          </article>
        )}
      />
    </section>
  );
}
