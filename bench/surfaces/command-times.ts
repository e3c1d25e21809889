import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Bench } from "../bench.ts";
import { median } from "../measuring.ts";
import { RKAT, timeOfNode } from "../programs.ts";
import { startAnswerServer } from "./answer-server.ts";

export interface CommandTimes {
  /** `node -e 0`. */
  readonly nodeMs: number;
  readonly times: readonly { readonly name: string; readonly ms: number }[];
}

/** Whole commands, from the start of the process to its end, alternating with a Node that does nothing. */
export async function commandTimes({ folder, signal }: Bench, runs: number): Promise<CommandTimes> {
  const place = join(folder, "command");
  mkdirSync(place);
  const server = await startAnswerServer();
  const env = { HOME: folder, OLLAMA_HOST: server.url };
  const turn = ["-m", "ollama/answers", "--dir", place, "go on"];
  const commands = [
    { name: "rkat --version, whole", args: ["--version"], ms: [] as number[] },
    { name: "a turn, the command, whole", args: turn, ms: [] as number[] },
  ];
  const node: number[] = [];
  try {
    for (let run = 0; run <= runs; run += 1) {
      const nodeMs = await timeOfNode(["-e", "0"], signal);
      // The first run only fills the caches of the system and of Node.
      if (run > 0) node.push(nodeMs);
      for (const { args, ms } of commands) {
        const elapsed = await timeOfNode([...RKAT, ...args], signal, env);
        if (run > 0) ms.push(elapsed);
      }
    }
  } finally {
    await server.close();
  }
  return {
    nodeMs: median(node),
    times: commands.map(({ name, ms }) => ({ name, ms: median(ms) })),
  };
}
