import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { SessionService, Stores } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { BUILDS } from "../src/testing.ts";
import { cliService } from "./support/cli-service.ts";
import { eventsOf } from "./support/eventful-conversation.ts";
import { temporaryFolder } from "./support/obey.ts";
import { freshSchema, hasPostgres, postgresUrl } from "./support/postgres.ts";
import { serviceWithProvider } from "./support/sdk-with-provider.ts";
import { type OpenedService, overJsonRpc, overMcp, overRest } from "./support/surfaces.ts";
import { LONG } from "./support/trials.ts";

const SURFACES: Readonly<
  Record<string, (opened: OpenedService) => SessionService | Promise<SessionService>>
> = {
  sdk: ({ service, close }) => {
    onTestFinished(close);
    return service;
  },
  rest: overRest,
  "json-rpc": overJsonRpc,
  mcp: (opened) => overMcp(opened, "modern"),
};

interface Place {
  open(): Stores;
  /** For the command, when it is not the project's file. */
  readonly store?: string;
}

const PLACES = {
  async sqlite(folder: string): Promise<Place> {
    return { open: () => sqliteStores({ path: join(folder, "project/.rkat/rkat.db") }) };
  },
  async postgres(): Promise<Place> {
    const [connectionString, schema] = [await postgresUrl(), await freshSchema()];
    const url = new URL(connectionString);
    url.searchParams.set("schema", schema);
    return { open: () => postgresStores({ connectionString, schema }), store: url.href };
  },
} as const;

// In the short form, test/postgres-service.test.ts holds each surface against that of SQLite.
describe.each(hasPostgres && LONG ? (["sqlite", "postgres"] as const) : (["sqlite"] as const))(
  "one session on %s",
  (name) => {
    // Takes over two seconds: the command and its servers are processes.
    test("goes on over each of the five surfaces, and all of them show the same log", async () => {
      const folder = await temporaryFolder();
      const place = await PLACES[name](folder);
      const setup = (reply: string) => ({ capabilities: BUILDS.F ?? [], replies: [reply] });
      const surfaces = new Map<string, SessionService>();
      surfaces.set("cli", await cliService(folder, setup("I am cli."), place.store));
      for (const [surface, over] of Object.entries(SURFACES)) {
        const opened = await serviceWithProvider(setup(`I am ${surface}.`), place.open());
        surfaces.set(surface, await over(opened));
      }
      const [[, first] = []] = surfaces;
      if (!first) expect.fail("There is no surface.");
      const { sessionId } = await first.createSession({ labels: { topic: "otters" } });
      for (const [surface, service] of surfaces) {
        const turn = await service.startTurn({ sessionId, prompt: `Who are you, ${surface}?` });
        expect(turn.text).toBe(`I am ${surface}.`);
      }
      const { seq, turns } = await first.read({ sessionId });
      expect(turns).toBe(surfaces.size);
      const log = await eventsOf(first, sessionId, 0, seq);
      expect(log.map((event) => event.seq)).toEqual(
        Array.from({ length: seq }, (_, index) => index + 1),
      );
      for (const [surface, service] of surfaces) {
        expect(await eventsOf(service, sessionId, 0, seq), surface).toEqual(log);
        expect(await service.list({ labels: { topic: "otters" } }), surface).toMatchObject([
          { sessionId, turns: surfaces.size },
        ]);
        for (const other of surfaces.keys()) {
          const found = () => service.searchMemory({ query: `who is ${other}` });
          await expect
            .poll(async () => (await found()).map(({ content }) => content))
            .toContain(`Who are you, ${other}?`);
        }
      }
      await first.archive({ sessionId });
      for (const service of surfaces.values()) expect(await service.list({})).toEqual([]);
    });
  },
);
