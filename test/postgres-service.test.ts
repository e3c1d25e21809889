import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, onTestFinished, test } from "vitest";
import { postgresStores } from "../src/postgres.ts";
import { type OpenService, type ServiceSetup, sessionServiceLaws } from "../src/testing.ts";
import { cliService } from "./support/cli-service.ts";
import { contractTests } from "./support/contract-tests.ts";
import { obey } from "./support/obey.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresAccess, postgresPlace } from "./support/postgres.ts";
import { expectSameEvents, type OpenSurface } from "./support/same-as-sdk.ts";
import { scriptedService } from "./support/scripted-service.ts";
import { sdkWithProvider } from "./support/sdk-with-provider.ts";
import { type OpenedService, overJsonRpc, overMcp, overRest } from "./support/surfaces.ts";
import { IN_LONG_FORM, LONG } from "./support/trials.ts";

/** A service whose stores are a namespace of their own for each place. */
async function opened(place: string, setup: ServiceSetup): Promise<OpenedService> {
  // For the files of sessions.
  mkdirSync(join(place, ".rkat"), { recursive: true });
  const stores = postgresStores({ ...(await postgresAccess()), namespace: place });
  return scriptedService(place, setup, stores);
}

const SURFACES: Readonly<Record<keyof typeof PARTS, OpenSurface>> = {
  async sdk(place, setup) {
    const { service, close } = await opened(place, setup);
    onTestFinished(close);
    return service;
  },
  "json-rpc": async (place, setup) => overJsonRpc(await opened(place, setup)),
  rest: async (place, setup) => await overRest(await opened(place, setup)),
  mcp: async (place, setup) => await overMcp(await opened(place, setup), "modern"),
  async cli(place, setup) {
    const { connectionString, schema } = await postgresPlace();
    const url = new URL(connectionString);
    url.searchParams.set("schema", schema);
    url.searchParams.set("namespace", place);
    return await cliService(place, setup, url.href);
  },
};

/** SQLite's tests show that a surface adds nothing to the laws, so all of them run over each only in the long form. */
const LAWS_OVER: readonly string[] = LONG ? ["sdk", "json-rpc", "rest"] : ["sdk"];

/** For the same reason each keeps a part of the contract in the short form. PostgreSQL's stores keep laws of their own. */
const PARTS = {
  sdk: { of: 8, at: 0 },
  "json-rpc": { of: 32, at: 1 },
  rest: { of: 32, at: 9 },
  mcp: { of: 32, at: 17 },
  cli: { of: 32, at: 25 },
} as const;

describe.skipIf(!hasPostgres).each(Object.entries(SURFACES) as [keyof typeof PARTS, OpenSurface][])(
  "%s on PostgreSQL",
  NEEDS_POSTGRES,
  (name, open) => {
    if (LAWS_OVER.includes(name)) {
      obey<OpenService>(sessionServiceLaws, [
        {
          name: "laws",
          durable: true,
          part: { of: 8, at: 1 },
          open: async (place) => async (setup) => open(place, setup),
        },
      ]);
    }

    describe("the contract", () =>
      contractTests(open, {
        ...(name === "cli" ? { folder: "project/.rkat/sessions" } : {}),
        part: PARTS[name],
      }));

    // The surfaces' own tests show that each tells the SDK's events.
    test.skipIf(!LONG && name !== "sdk")(
      "a conversation gives the same events as over the SDK on SQLite",
      IN_LONG_FORM,
      () => expectSameEvents(open, name === "cli" ? sdkWithProvider : undefined),
    );
  },
);
