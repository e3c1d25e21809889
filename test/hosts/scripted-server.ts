import { type LocalProvider, startLocalProvider } from "../../examples/hosts/local-provider.ts";
import { contentText, type Message } from "../../src/core/message.ts";
import type { AdaptedLoop, LoopRecord, LoopScript } from "../../src/testing/adapter-laws.ts";
import type { Json } from "../support/provider-server/reply.ts";

/** The model of a script, for a loop that asks OpenAI's chat completions. */
export interface ScriptedServer {
  readonly server: LocalProvider;
  /** What the tool `read` returns. */
  readonly outputs: ReadonlyMap<string, string>;
  record(answers: readonly string[]): LoopRecord;
}

export async function startScriptedServer(script: LoopScript): Promise<ScriptedServer> {
  const replies = script.turns.flatMap(({ steps, answer }) => [
    ...steps.map(({ text, calls }) => ({
      ...(text === "" ? {} : { text }),
      toolCalls: calls.map(({ id, path }) => ({ id, name: "read", args: { path } })),
    })),
    answer,
  ]);
  const calls = script.turns.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  let paid = 0;
  const server = await startLocalProvider({
    answer: (index) => replies[index] ?? "The script is at its end.",
    summary() {
      paid += 1;
      if (script.summaries === "failing") return { status: 400, message: "no quota" };
      return `Tasks at the harbour were done: cargo, crane and ledger. Part ${paid}.`;
    },
  });
  return {
    server,
    outputs: new Map(calls.map(({ path, output }) => [path, output])),
    record(answers) {
      const steps = server.billed.filter(({ kind }) => kind === "step");
      return { requests: steps.map(({ body }) => sentMessages(body)), summaries: paid, answers };
    },
  };
}

/** Has each conversation once, for all laws. */
export function remembered(loop: AdaptedLoop): AdaptedLoop {
  const records = new Map<string, Promise<LoopRecord>>();
  return {
    run(script) {
      const key = JSON.stringify(script);
      const record = records.get(key) ?? loop.run(script);
      records.set(key, record);
      return record;
    },
  };
}

/** The messages of a request to OpenAI's chat completions. */
export function sentMessages({ messages }: Json): Message[] {
  return (messages as readonly Json[]).flatMap((message): Message[] => {
    const content = said(message.content);
    switch (message.role) {
      case "assistant":
        return [{ role: "assistant", content, tool_calls: callsOf(message) }];
      case "tool": {
        const result = { tool_use_id: String(message.tool_call_id), content, is_error: false };
        return [{ role: "tool_results", results: [result] }];
      }
      default:
        return [{ role: message.role === "user" ? "user" : "system", content }];
    }
  });
}

function said(content: unknown): string {
  return contentText((content ?? "") as string);
}

function callsOf({ tool_calls }: Json) {
  return ((tool_calls ?? []) as readonly { id: string; function: Record<string, string> }[]).map(
    ({ id, function: { name = "", arguments: args = "{}" } }) => ({
      id,
      name,
      args: JSON.parse(args),
    }),
  );
}
