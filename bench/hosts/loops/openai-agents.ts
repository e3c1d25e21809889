import {
  Agent,
  type AgentInputItem,
  type CallModelInputFilter,
  OpenAIResponsesCompactionSession,
  OpenAIResponsesModel,
  run,
  type Session,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { createSessionService } from "rkat";
import { rkatModel, rkatSession } from "rkat/openai-agents";
import { sqliteStores } from "rkat/sqlite";
import { z } from "zod";
import type { Contender, HostLoop, Lab } from "../play-run.ts";
import { searchIn } from "./ai-sdk.ts";

setTracingDisabled(true);

const HOST = "OpenAI Agents 0.20";
const MODEL = "gpt-5";

function clientOf(lab: Lab): OpenAI {
  return new OpenAI({
    apiKey: "local",
    baseURL: lab.url,
    maxRetries: 0,
    fetch: (url, init) =>
      String(url).endsWith("/responses/compact")
        ? Promise.resolve(compacted(lab, String(init?.body)))
        : fetch(url, init),
  });
}

/** What OpenAI's endpoint for compactions answers with: all user messages, and one item for the rest. */
function compacted(lab: Lab, body: string): Response {
  const { input } = JSON.parse(body) as { input: readonly Readonly<Record<string, unknown>>[] };
  const users = input.flatMap(({ role, content }) => {
    if (role !== "user") return [];
    const parts = typeof content === "string" ? [{ type: "input_text", text: content }] : content;
    return [{ type: "message", role, content: parts }];
  });
  const item = { type: "compaction", id: "cmp_1", encrypted_content: lab.summaryOf(body) };
  const tokens = Math.ceil(body.length / 4);
  return Response.json({
    id: "resp_compacted",
    object: "response.compaction",
    created_at: 1,
    output: [...users, item],
    usage: { input_tokens: tokens, output_tokens: 10, total_tokens: tokens + 10 },
  });
}

function loopWith(
  lab: Lab,
  model: OpenAIResponsesModel,
  options: { readonly session: Session; readonly callModelInputFilter?: CallModelInputFilter },
): HostLoop {
  const read = tool({
    name: "read",
    description: "Reads a file.",
    parameters: z.object({ path: z.string() }),
    execute: ({ path }) => lab.read(path),
  });
  const others = lab.otherTools.map(({ name, description }) =>
    tool({ name, description, parameters: z.object({}), execute: () => "" }),
  );
  const agent = new Agent({
    name: "Harbour",
    instructions: lab.instructions,
    tools: [read, ...others],
    model,
    modelSettings: { store: false, providerData: { include: ["reasoning.encrypted_content"] } },
  });
  return {
    async ask(prompt, picture) {
      const asked = picture ? [withPicture(prompt, picture)] : prompt;
      const { finalOutput } = await run(agent, asked, { ...options, maxTurns: 100 });
      return String(finalOutput);
    },
  };
}

function withPicture(text: string, data: string): AgentInputItem {
  const image = `data:image/png;base64,${data}`;
  return {
    role: "user",
    content: [
      { type: "input_text", text },
      { type: "input_image", image },
    ],
  };
}

export const openAiAgentsContenders: readonly Contender[] = [
  {
    host: HOST,
    name: "`OpenAIResponsesCompactionSession`",
    async open(lab) {
      const client = clientOf(lab);
      const session = new OpenAIResponsesCompactionSession({ client, model: MODEL });
      return loopWith(lab, new OpenAIResponsesModel(client, MODEL), { session });
    },
  },
  {
    host: HOST,
    name: "rkat",
    async open(lab) {
      const { contextWindow } = lab;
      const stores = sqliteStores({ path: ":memory:" });
      const model = rkatModel(new OpenAIResponsesModel(clientOf(lab), MODEL));
      const session = rkatSession<AgentInputItem>({ stores, model, contextWindow });
      const sessions = createSessionService({ model: "none", stores });
      return {
        ...loopWith(lab, model, { session, callModelInputFilter: session.filter }),
        search: (query) => searchIn(sessions, query),
        async close() {
          await session.close();
          await sessions.close();
          await stores.close();
        },
      };
    },
  },
];
