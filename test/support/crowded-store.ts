import pg from "pg";
import { onTestFinished } from "vitest";
import { copyUsers } from "../../bench/data/copied-users.ts";
import { madeUpBatches } from "../../bench/data/entries.ts";
import { createSessionService } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { scriptedModel } from "../../src/testing.ts";
import { freshSchema, postgresUrl } from "./postgres.ts";

/** Users of one kind: so many copies of one who has that. */
export interface UsersOfAKind {
  readonly name: string;
  readonly copies: number;
  /** In four sessions. */
  readonly turns: number;
  /** Entries of memory, beside those of the turns. */
  readonly entries: number;
}

const SESSIONS = 4;

/**
 * A store of many users in a schema of its own, with the statistics of which the server makes its plans. `sessionId` is
 * the last session that was made.
 */
export async function crowdedStore(kinds: readonly UsersOfAKind[]) {
  const schema = await freshSchema();
  const connectionString = await postgresUrl();
  const pool = new pg.Pool({ connectionString, max: 4 });
  onTestFinished(() => pool.end());
  const stores = postgresStores({ pool, schema });
  const texts = [...madeUpBatches(20_000, 20_600, 1)].flat().map(({ content }) => content);
  let said = 0;
  let last = "";
  const say = () => texts[said++ % texts.length] as string;
  const service = createSessionService({ model: scriptedModel(say), stores });
  for (const { name, copies, turns, entries } of kinds) {
    const user = service.forUser(name);
    for (let session = 0; session < SESSIONS; session += 1) {
      const { sessionId } = await user.createSession({ labels: { session: `${session}` } });
      last = sessionId;
      for (let turn = 0; turn < turns / SESSIONS; turn += 1) {
        await user.startTurn({ sessionId, prompt: say() });
      }
      await user.addKnowledge({ kind: "fact", content: `We keep this: ${say()}` });
    }
    const { memory, approvals } = stores.forUser(name);
    for (const batch of madeUpBatches(0, entries, 100)) await memory.add(batch);
    // Room of what was deleted is used again.
    const gone = { id: "gone", sessionId: "added", turn: 0, kind: "message" } as const;
    await memory.add([{ ...gone, content: "It is deleted again." }]);
    await memory.delete({ ids: ["gone"] });
    await memory.finishMerging();
    await approvals.add([1, 2, 3, 4].map((call) => waiting(`${name} ${call}`)));
    if (copies > 0) {
      const from = `default\nuser ${name}`;
      await copyUsers(pool, { schema, from, to: `${from} `, first: 1, last: copies });
    }
  }
  await service.close();
  await stores.close();
  const { rows: tables } = await pool.query(
    "select tablename as name from pg_tables where schemaname = $1",
    [schema],
  );
  for (const { name } of tables as { readonly name: string }[]) {
    await pool.query(`vacuum analyze "${schema}"."${name}"`);
  }
  return { schema, connectionString, pool, texts, sessionId: last };
}

function waiting(approvalId: string) {
  const requestedAt = "2026-01-01T00:00:00Z";
  const call = { toolUseId: "t", tool: "write_file", args: {}, goal: "", requestedAt };
  return { approvalId, sessionId: "s", ...call };
}
