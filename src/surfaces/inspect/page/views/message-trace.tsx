import { useState } from "preact/hooks";
import type { ForkedSession } from "../../../../core/operations/forks.ts";
import type { Fate, MessageTrace } from "../../../../core/operations/history.ts";
import type { Pins } from "../../../../core/operations/working-memory.ts";
import { urlPart } from "../../../../text/url-part.ts";
import { amount, Badge, Failure, headOf, plain, useLoaded, useWork } from "../parts.tsx";
import { askingFor, hrefOf } from "../route.ts";
import type { ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { BringBack } from "./bring-back.tsx";

type Trace = Wire<MessageTrace>;

const NOW: Readonly<Record<Trace["now"], string>> = {
  whole: "It is in the window, word for word.",
  shortened: "It is in the window, with its output shortened.",
  left: "It left the window.",
};

/** The trace of a message: where it is now, what each compaction did to it, and when it came back. */
export function MessageTraceView({
  source,
  about,
  session,
  message,
  since,
}: ViewProps & {
  readonly session: string;
  readonly message: number;
  /** The last event that is known: with more of them it may be somewhere else. */
  readonly since: number;
}) {
  const path = `sessions/${urlPart(session)}`;
  const { value, error, reload } = useLoaded(
    () => source.get<Trace>(`${path}/message`, { message }),
    [source, session, message, since],
  );
  const pins = useLoaded(
    () => source.get<Wire<Pins>>(`${path}/pins`),
    [source, session, message, since],
  );
  const again = pins.value?.brought_back?.find((shown) => shown.message === message);
  const reloadBoth = () => {
    reload();
    pins.reload();
  };
  const { failed, work } = useWork(reloadBoth);
  const [forked, setForked] = useState<string>();
  if (!value) return <Failure error={error} />;
  const pin = () =>
    work(source.send("POST", `${path}/${value.pinned ? "unpin" : "pins"}`, { message }));
  const isPrompt = value.message.role === "user";
  const fork = () => {
    const event = isPrompt ? message - 1 : message;
    const asked = source.send<Wire<ForkedSession>>("POST", `${path}/fork`, { event });
    work(asked.then(({ session_id }) => setForked(session_id)));
  };
  return (
    <section class="trace" aria-label={`What became of message ${message}`}>
      <p>
        <strong>{NOW[value.now]}</strong>{" "}
        <span class="quiet">
          {amount(value.tokens)} tokens, message {message}, turn {value.turn}
        </span>{" "}
        {value.pinned && <Badge>pinned</Badge>}
      </p>
      {again && (
        <p>
          The model sees it again,{" "}
          {again.pinned ? "through every compaction." : "until the next compaction."}
        </p>
      )}
      <ul>
        {value.compactions.map(({ event, fate, in_force }) => (
          <li key={event}>
            <a href={hrefOf(session, "compactions", event)}>Compaction, event {event}</a>:{" "}
            {FATES[fate]}
            {in_force ? "" : " (undone)"}
          </li>
        ))}
        {value.recalled_by.map((event) => (
          <li key={event}>
            <a href={hrefOf(session, "recalled", event)}>Event {event}</a>: it came back from memory
          </li>
        ))}
        {value.brought_back_by.map((event) => (
          <li key={event}>
            <a href={hrefOf(session, "transcript", event)}>Event {event}</a>: it was brought back
          </li>
        ))}
        {value.learned.map(({ id, kind, content }) => (
          <li key={id}>
            The project learned from it:{" "}
            <a href={askingFor("knowledge", { id })}>“{headOf(content, 120)}”</a>, a {kind}
          </li>
        ))}
        {value.copy_of && (
          <li>
            It is a copy of{" "}
            <a href={hrefOf(value.copy_of.session_id, "transcript", value.copy_of.message)}>
              message {value.copy_of.message} of another session
            </a>
          </li>
        )}
        <li>
          {value.memory_id === null ? (
            "Memory does not have it."
          ) : (
            <a href={askingFor("memory", { id: value.memory_id })}>Memory has it</a>
          )}
        </li>
      </ul>
      {about.writes && (
        <div class="bar">
          {value.now !== "left" && (
            <button type="button" onClick={pin}>
              {value.pinned ? "Unpin" : "Pin: no compaction takes it out"}
            </button>
          )}
          {again?.pinned && (
            <button
              type="button"
              onClick={() => work(source.send("POST", `${path}/unpin`, { message }))}
            >
              Let the next compaction take it
            </button>
          )}
          <button type="button" onClick={fork}>
            {isPrompt
              ? "Fork before it, to ask something else"
              : "Fork: go on from here in a new session"}
          </button>
        </div>
      )}
      {about.writes && value.now !== "whole" && !again && (
        <BringBack source={source} session={session} message={message} onDone={reloadBoth} />
      )}
      <Failure error={failed} />
      <p role="status">
        {forked && (
          <>
            <a href={hrefOf(forked)}>The new session</a> goes on from here. Talk in it with{" "}
            <code>rkat chat --resume {plain(forked)}</code>
          </>
        )}
      </p>
    </section>
  );
}

/** The effect of a compaction on a message, in words. */
export const FATES: Readonly<Record<Fate, string>> = {
  kept: "Kept word for word",
  shortened: "Kept, its output shortened",
  quoted: "Left; quoted in the summary",
  named: "Left; the summary has its names",
  in_memory: "Left; memory finds it",
  in_log: "Left; only the log has it",
};
