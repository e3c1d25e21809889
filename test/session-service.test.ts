import { describe, onTestFinished } from "vitest";
import { type OpenService, sessionServiceLaws } from "../src/testing.ts";
import { obey } from "./support/obey.ts";
import { scriptedService } from "./support/scripted-service.ts";

describe("SessionService", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "sdk",
      durable: true,
      open: async (place) => async (setup) => {
        const { service, close } = scriptedService(place, setup);
        onTestFinished(close);
        return service;
      },
    },
  ]);
});
