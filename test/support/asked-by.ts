import { createSessionService, type SessionService } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { scriptedModel } from "../../src/testing.ts";
import { type Explained, ExplainedPool } from "./explained-pool.ts";

/** What a process sends that does this work for the user `asker`, explained by the server. */
export async function askedBy(
  { connectionString, schema }: { readonly connectionString: string; readonly schema: string },
  work: (service: SessionService) => Promise<unknown>,
): Promise<readonly Explained[]> {
  const explained = new ExplainedPool(connectionString);
  const stores = postgresStores({ pool: explained.pool, schema });
  const all = createSessionService({
    model: scriptedModel(() => "It is in Hamburg, as you said."),
    stores,
    recallFrom: "project",
  });
  await work(all.forUser("asker"));
  await all.close();
  await stores.close();
  await explained.end();
  return explained.statements;
}
