import { useState } from "preact/hooks";
import type { BroughtBackOutcome } from "../../../../core/operations/bring-back.ts";
import { urlPart } from "../../../../text/url-part.ts";
import { amount, Failure, plain, useWork } from "../parts.tsx";
import type { Source } from "../source.ts";
import type { Wire } from "../wire.ts";

type Outcome = Wire<BroughtBackOutcome>;

/** Shows the model a message again that left its window, until the next compaction or through all of them. */
export function BringBack({
  source,
  session,
  message,
  onDone,
}: {
  readonly source: Source;
  readonly session: string;
  readonly message: number;
  readonly onDone: () => void;
}) {
  const [outcome, setOutcome] = useState<Outcome>();
  const { failed, work } = useWork(onDone);
  const bring = (pin: boolean) => {
    const path = `sessions/${urlPart(session)}/bring-back`;
    work(source.send<Outcome>("POST", path, { message, pin }).then(setOutcome));
  };
  return (
    <>
      <div class="bar">
        <button
          type="button"
          title="The model sees it again from the next call on, until the next compaction"
          onClick={() => bring(false)}
        >
          Bring it back
        </button>
        <button
          type="button"
          title="The model sees it again from the next call on, and no compaction takes it away"
          onClick={() => bring(true)}
        >
          Bring it back and keep it
        </button>
      </div>
      <Failure error={failed} />
      <p role="status">{outcome && textOf(outcome)}</p>
    </>
  );
}

function textOf(outcome: Outcome): string {
  if (outcome.brought_back)
    return `The model sees it again from the next call on. It takes ${amount(outcome.tokens)} tokens; the next request has ${amount(outcome.used_tokens)}.`;
  return `${plain(outcome.reason)} ${amount(outcome.tokens_over)} tokens are too many.`;
}

/** A record that came back by itself, and is about something else: it does so in this session no more, or again. */
export function NotThis({
  source,
  session,
  id,
  isRefused,
}: {
  readonly source: Source;
  readonly session: string;
  readonly id: string;
  readonly isRefused: boolean;
}) {
  const { failed, work } = useWork(() => {});
  const [what, title] = isRefused
    ? (["allow", "It may come back by itself in this session again"] as const)
    : ([
        "refuse",
        "It never comes back by itself in this session again. Searches still find it",
      ] as const);
  const path = `sessions/${urlPart(session)}/${what}-recall`;
  return (
    <>
      {isRefused && <span>never comes back by itself here again</span>}
      <button
        type="button"
        class="link"
        title={title}
        onClick={() => work(source.send("POST", path, { ids: [id] }))}
      >
        {isRefused ? "Let it come back" : "Not this"}
      </button>
      <Failure error={failed} />
    </>
  );
}
