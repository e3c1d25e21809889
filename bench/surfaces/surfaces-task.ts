import { once } from "node:events";
import { join } from "node:path";
import type { SessionService } from "rkat";
import { connectJsonRpc } from "rkat/json-rpc";
import { connectMcp } from "rkat/mcp";
import { connectRest } from "rkat/rest";
import { fork } from "../../test/support/start-process.ts";
import type { SayProgress } from "../bench.ts";
import { median } from "../measuring.ts";
import { NODE_FLAGS, programOf } from "../programs.ts";
import { DELTAS, scriptedService } from "./scripted-service.ts";

export interface SurfacesInput {
  readonly folder: string;
  readonly turns: number;
}

/** Medians of each surface. */
export interface SurfaceCost {
  readonly surface: string;
  readonly turnMs: number;
  /** What one streamed token adds. */
  readonly tokenUs: number;
}

const WARM_UP = 5;
const PROGRAM = programOf("surfaces/serve-process.ts");

/**
 * Runs turns through each surface: the SDK in this process, the others in a process
 * each. Turns of one delta and of a thousand alternate over the surfaces, so that the
 * machine's drift affects all of them.
 */
export async function surfacesTask(
  { folder, turns }: SurfacesInput,
  say: SayProgress,
): Promise<readonly SurfaceCost[]> {
  const args = (surface: string) => [...NODE_FLAGS, PROGRAM, surface, join(folder, surface)];
  const command = process.execPath;
  const sdk = scriptedService(join(folder, "sdk"));
  const rest = fork(PROGRAM, ["rest", join(folder, "rest")], { execArgv: NODE_FLAGS });
  const [url] = (await once(rest, "message")) as [string];
  const services: Record<string, SessionService> = {
    sdk: sdk.service,
    "json-rpc": connectJsonRpc({ command, args: args("json-rpc") }),
    rest: connectRest({ url }),
    mcp: await connectMcp({ command, args: args("mcp") }),
  };
  const surfaces = await Promise.all(
    Object.entries(services).map(async ([name, service]) => {
      const { sessionId } = await service.createSession({});
      return { name, service, sessionId, one: [] as number[], many: [] as number[] };
    }),
  );
  for (let turn = 0; turn < turns + WARM_UP; turn += 1) {
    await say(`turn ${turn} of ${turns + WARM_UP}`);
    for (const kind of ["one", "many"] as const) {
      for (const surface of surfaces) {
        const ms = await turnMs(surface, kind === "one" ? 1 : DELTAS);
        if (turn >= WARM_UP) surface[kind].push(ms);
      }
    }
  }
  for (const { name, service } of surfaces) if (name !== "sdk") await service.close();
  rest.disconnect();
  await once(rest, "exit");
  await sdk.close();
  return surfaces.map(({ name, one, many }) => ({
    surface: name,
    turnMs: median(one),
    tokenUs: (1000 * (median(many) - median(one))) / (DELTAS - 1),
  }));
}

async function turnMs(
  { name, service, sessionId }: { name: string; service: SessionService; sessionId: string },
  deltasExpected: number,
): Promise<number> {
  let deltas = 0;
  const start = performance.now();
  await service.startTurn(
    { sessionId, prompt: "go on" },
    { onEvent: ({ payload }) => (deltas += payload.type === "text_delta" ? 1 : 0) },
  );
  const elapsed = performance.now() - start;
  if (deltas !== deltasExpected) throw new Error(`${name} lost deltas: ${deltas}`);
  return elapsed;
}
