import { describe } from "vitest";
import { type OpenService, sessionServiceLaws } from "../src/testing.ts";
import { contractTests } from "./support/contract-tests.ts";
import { obey } from "./support/obey.ts";
import { openSdk } from "./support/same-as-sdk.ts";

describe("SessionService", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "sdk",
      durable: true,
      open: async (place) => async (setup) => openSdk(place, setup),
    },
  ]);
});

describe("the contract over the SDK", () => contractTests(openSdk));
