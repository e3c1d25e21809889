import { type LocalProvider, startLocalProvider } from "../../examples/hosts/local-provider.ts";
import { estimateTokens } from "../../src/core/tokens.ts";
import type { AdaptedLoop, LoopRecord, LoopScript } from "../../src/testing/adapter-laws.ts";
import { PICTURE } from "./random-script.ts";
import { sentMessages } from "./sent-messages.ts";

/** The model of a script, for a loop that asks a provider. */
export interface ScriptedServer {
  readonly server: LocalProvider;
  /** Runs the tool `read`. */
  read(path: string): string;
  /** Begins a turn. The signal stops its run when the script says so. */
  begin(): AbortSignal;
  record(answers: readonly string[]): LoopRecord;
}

export async function startScriptedServer(script: LoopScript): Promise<ScriptedServer> {
  let turn = new AbortController();
  const stopped = () => {
    turn.abort(new Error("stopped by the user"));
    return new Promise<never>(() => {});
  };
  const replies = script.turns.flatMap(({ steps, answer, ends }) => [
    ...steps.map(({ text, reasoning, calls }) => () => ({
      ...(reasoning ? { reasoning } : {}),
      ...(text === "" ? {} : { text }),
      toolCalls: calls.map(({ id, path }) => ({ id, name: "read", args: { path } })),
    })),
    ends === "stopped" ? stopped : () => (ends === "failed" ? OVERLOADED : answer),
  ]);
  const calls = script.turns.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  const outputs = new Map(calls.map((call) => [call.path, call]));
  let paid = 0;
  const server = await startLocalProvider({
    ...(script.refusedAbove === undefined ? {} : { contextWindow: script.refusedAbove }),
    pictureTokens: (model) => estimateTokens([{ role: "user", content: [picture] }], model),
    answer: (index) => replies[index]?.() ?? "The script is at its end.",
    summary() {
      paid += 1;
      if (script.summaries === "failing") return { status: 400, message: "no quota" };
      return `Tasks at the harbour were done: cargo, crane and ledger. Part ${paid}.`;
    },
  });
  return {
    server,
    read(path) {
      const { output = "", fails = false } = outputs.get(path) ?? {};
      if (fails) throw new Error(output);
      return output;
    },
    begin() {
      turn = new AbortController();
      return turn.signal;
    },
    record(answers) {
      const steps = server.billed.filter(({ kind }) => kind === "step");
      const { model } = (steps[0]?.body ?? {}) as { readonly model?: string };
      return {
        requests: steps.map(({ body }) => sentMessages(body)),
        summaries: paid,
        answers,
        model,
      };
    },
  };
}

const picture = { type: "image", media_type: "image/png", data: PICTURE } as const;

const OVERLOADED = { status: 500, message: "The server is overloaded." };

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
