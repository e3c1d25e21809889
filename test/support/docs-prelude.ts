import type { Message, Tool as RkatTool, SessionService, SessionStore, SummaryRequest } from "rkat";
import * as rkat from "rkat";
import type * as aiSdk from "rkat/ai-sdk";
import * as sqlite from "rkat/sqlite";
import * as testing from "rkat/testing";
import { z } from "zod";

// What the programs of the docs leave to the reader, or have from an earlier program of their page. A name that
// a program declares itself hides the one here. test/public-types.test.ts compiles every program with this file,
// and test/docs-commands.test.ts runs the first program of each page with it.

declare global {
  type Tool = RkatTool;
  var createSessionService: typeof rkat.createSessionService;
  var compactHistory: typeof rkat.compactHistory;
  var defineTool: typeof rkat.defineTool;
  var sqliteStores: typeof sqlite.sqliteStores;
  var fromModelMessages: typeof aiSdk.fromModelMessages;

  var model: ReturnType<typeof testing.scriptedModel>;
  var stores: sqlite.SqliteStores;
  var sessions: SessionService;
  var sessionId: string;
  var shell: RkatTool;
  var refund: RkatTool;
  var parcelStatus: RkatTool;
  var input: typeof branch;
  var execute: () => string;
  var askUser: (question: string, options: { readonly signal: AbortSignal }) => Promise<string>;
  var askTheUser: (question: string) => Promise<string>;
  var history: Message[];
  var yours: Message[];
  var toMessage: (message: Message) => Message;
  var askYourModel: (messages: SummaryRequest["messages"]) => Promise<{ readonly text: string }>;
  var generateText: typeof import("ai").generateText;
  var tools: Readonly<Record<string, unknown>>;
  var sessionStoreLaws: typeof testing.sessionStoreLaws;
  var test: (name: string, run: () => Promise<void>) => void;
  var open: () => Promise<SessionStore>;
  var signal: AbortSignal;
  var png: Buffer;
}

const branch = z.object({ branch: z.string() });

globalThis.createSessionService = rkat.createSessionService;
globalThis.defineTool = rkat.defineTool;
globalThis.model = testing.scriptedModel([]);
globalThis.stores = sqlite.sqliteStores({ path: ":memory:" });
globalThis.input = branch;
globalThis.execute = () => "Deployed.";
globalThis.shell = rkat.defineTool({ name: "shell", description: "Runs.", input, execute });
