import type { Tool as RkatTool, SessionService } from "rkat";
import * as rkat from "rkat";
import { type Stores, sqliteStores } from "rkat/sqlite";
import { scriptedModel } from "rkat/testing";
import { z } from "zod";

// What the programs of the docs leave to the reader, or have from an earlier program of their page. A name that
// a program declares itself hides the one here. test/docs-commands.test.ts compiles every program with this file,
// and runs the first program of each page with it.

declare global {
  type Tool = RkatTool;
  var createSessionService: typeof rkat.createSessionService;
  var defineTool: typeof rkat.defineTool;
  var model: ReturnType<typeof scriptedModel>;
  var stores: Stores;
  var shell: RkatTool;
  var input: typeof branch;
  var execute: () => string;
  var sessions: SessionService;
}

const branch = z.object({ branch: z.string() });

globalThis.createSessionService = rkat.createSessionService;
globalThis.defineTool = rkat.defineTool;
globalThis.model = scriptedModel([]);
globalThis.stores = sqliteStores({ path: ":memory:" });
globalThis.input = branch;
globalThis.execute = () => "Deployed.";
globalThis.shell = rkat.defineTool({ name: "shell", description: "Runs.", input, execute });
