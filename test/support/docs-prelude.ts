import type { Tool as RkatTool } from "rkat";
import * as rkat from "rkat";
import { scriptedModel } from "rkat/testing";

// What the programs of the docs leave to the reader, or have from an earlier program of their page. A name that
// a program declares itself hides the one here. test/docs-commands.test.ts compiles every program with this file,
// and runs the first program of each page with it.

declare global {
  type Tool = RkatTool;
  var createSessionService: typeof rkat.createSessionService;
  var defineTool: typeof rkat.defineTool;
  var model: ReturnType<typeof scriptedModel>;
}

globalThis.createSessionService = rkat.createSessionService;
globalThis.defineTool = rkat.defineTool;
globalThis.model = scriptedModel([]);
