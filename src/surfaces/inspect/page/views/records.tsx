import type { RecalledRecord } from "../../../../core/event.ts";
import { Badge, Meter, plain, Time, Words } from "../parts.tsx";
import { hrefOf } from "../route.ts";

/** Records of memory that came back by themselves, each with its score. */
export function Records({ records }: { readonly records: readonly RecalledRecord[] }) {
  return (
    <ul class="records">
      {records.map((record) => (
        <li key={record.id}>
          <span class="facts">
            <Badge tone={record.said_by}>{plain(record.said_by)}</Badge>
            <Meter label="Score" used={record.score} of={1} />
            <span>{record.score.toFixed(2)}</span>
            {record.time && <Time at={record.time} />}
            <Origin id={record.id} />
          </span>
          <Words text={record.text} />
        </li>
      ))}
    </ul>
  );
}

/** The message that an entry of memory is. Its id names the session and the message. */
export function Origin({ id }: { readonly id: string }) {
  const [, session, message] = /^(.+):(\d+)(?:#.*)?$/.exec(id) ?? [];
  if (session === undefined) return null;
  return <a href={hrefOf(session, "transcript", Number(message))}>Where it was said</a>;
}
