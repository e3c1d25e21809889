// One service for two users: each has their own sessions, memory and rules. It needs no key: the model is scripted.
//
//   node examples/05-many-users.ts
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSessionService } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { scriptedModel } from "rkat/testing";

const folder = await mkdtemp(join(tmpdir(), "rkat-example-"));
const stores = sqliteStores({ path: join(folder, "rkat.db") });
const sessions = createSessionService({ model: scriptedModel([]), stores });

// In a server: the user that your own login names.
const ada = sessions.forUser("ada");
const bob = sessions.forUser("bob");

const { sessionId } = await ada.createSession({});
await ada.startTurn({ sessionId, prompt: "My PIN is 5128. Always answer in French." });

const found = async (user: typeof ada) => (await user.searchHistory({ query: "PIN" })).length;
console.log(`Ada finds ${await found(ada)}, Bob finds ${await found(bob)}.`);
console.log(await bob.read({ sessionId }).catch(({ code }) => code));

await sessions.close();
await stores.close();
await rm(folder, { recursive: true });
