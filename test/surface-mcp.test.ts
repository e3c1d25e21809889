import { describe } from "vitest";
import { type OpenService, sessionServiceLaws } from "../src/testing.ts";
import { obey } from "./support/obey.ts";
import { overHttp, overStdio } from "./support/scripted-mcp.ts";

describe("SessionService over MCP", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "stdio",
      durable: true,
      open: async (place) => (setup) => overStdio(place, setup),
    },
    {
      name: "http, 2026-07-28",
      durable: true,
      open: async (place) => (setup) => overHttp(place, setup, "modern"),
    },
    {
      name: "http, 2025-11-25",
      durable: true,
      open: async (place) => (setup) => overHttp(place, setup, "legacy"),
    },
  ]);
});
