import { useState } from "preact/hooks";
import type { PendingApproval } from "../../../../core/approval.ts";
import { urlPart } from "../../../../text/url-part.ts";
import { changeIn } from "../file-change.ts";
import { amount, Badge, Failure, Field, plain, Time, Title, useLoaded, Words } from "../parts.tsx";
import { hrefOf } from "../route.ts";
import type { ViewProps } from "../source.ts";
import type { Wire } from "../wire.ts";
import { Change } from "./change.tsx";

type Waiting = Wire<PendingApproval>;

/** Tool calls that wait for approval, with everything that they would do. */
export function ApprovalsView({ source, about }: ViewProps) {
  const { value, error, reload } = useLoaded(
    () => source.get<{ approvals: readonly Waiting[] }>("approvals"),
    [source],
  );
  const [failed, setFailed] = useState<unknown>();
  const answer = async (
    { session_id, approval_id }: Waiting,
    decision: "allow" | "deny",
    reason: string,
  ) => {
    const path = `sessions/${urlPart(session_id)}/approvals/${urlPart(approval_id)}`;
    try {
      await source.send("POST", path, { decision, ...(reason ? { reason } : {}) });
      setFailed(undefined);
    } catch (failure) {
      setFailed(failure);
    }
    reload();
  };
  return (
    <div class="view">
      <Title>Approvals</Title>
      <div class="bar">
        <button type="button" onClick={reload}>
          Look again
        </button>
        {!about.writes && <span class="quiet">To answer here, open the page with --write.</span>}
        <span class="status" role="status">
          {value ? waiting(value.approvals.length) : ""}
        </span>
      </div>
      <Failure error={error ?? failed} />
      {value?.approvals.length === 0 && <p class="empty">Nothing waits.</p>}
      <ul class="entries scroll">
        {value?.approvals.map((call) => (
          <li key={call.approval_id} class="card">
            <Call
              call={call}
              writes={about.writes}
              onAnswer={(decision, reason) => void answer(call, decision, reason)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

function waiting(calls: number): string {
  return calls === 1 ? "1 call waits" : `${amount(calls)} calls wait`;
}

function Call({
  call,
  writes,
  onAnswer,
}: {
  readonly call: Waiting;
  readonly writes: boolean;
  readonly onAnswer: (decision: "allow" | "deny", reason: string) => void;
}) {
  const [reason, setReason] = useState("");
  const change = changeIn(call.args);
  return (
    <article>
      <span class="facts">
        <Badge tone="bad">{plain(call.tool)}</Badge>
        <Time at={call.requested_at} />
        <a href={hrefOf(call.session_id)}>Its session</a>
      </span>
      {call.goal && <p class="quiet">For: {plain(call.goal)}</p>}
      {change ? (
        <Change change={change} />
      ) : (
        <Words text={JSON.stringify(call.args, null, 2) ?? ""} mono whole />
      )}
      {writes && (
        <div class="bar">
          <Field
            label="Reason"
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
          <button type="button" onClick={() => onAnswer("allow", reason)}>
            Allow once
          </button>
          <button type="button" class="danger" onClick={() => onAnswer("deny", reason)}>
            Deny
          </button>
        </div>
      )}
    </article>
  );
}
