import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { postgresStores } from "../src/postgres.ts";
import { type OpenService, sessionServiceLaws } from "../src/testing.ts";
import { contractTests } from "./support/contract-tests.ts";
import { obey } from "./support/obey.ts";
import { hasPostgres, postgresPlace } from "./support/postgres.ts";
import type { OpenSurface } from "./support/same-as-sdk.ts";
import { scriptedService } from "./support/scripted-service.ts";

/** A service on PostgreSQL. The stores of each place are a namespace of their own. */
const openOnPostgres: OpenSurface = async (place, setup) => {
  // For the files of sessions.
  mkdirSync(join(place, ".rkat"), { recursive: true });
  const stores = postgresStores({ ...(await postgresPlace()), namespace: place });
  const { service, close } = scriptedService(place, setup, stores);
  onTestFinished(close);
  return service;
};

describe.skipIf(!hasPostgres)("on PostgreSQL", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "sdk",
      durable: true,
      open: async (place) => async (setup) => await openOnPostgres(place, setup),
    },
  ]);

  describe("the contract", () => contractTests(openOnPostgres));
});
