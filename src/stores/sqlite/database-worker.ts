import { parentPort, workerData } from "node:worker_threads";
import { commands } from "./commands.ts";
import type { Answer, Request } from "./database.ts";
import { CommandRunner } from "./sqlite-tables.ts";
import { packError } from "./store-failure.ts";

/** The thread that commands run in when they must not hold up a server. */
const runner = new CommandRunner(workerData.path, commands);

parentPort?.on("message", (request: Request) => parentPort?.postMessage(answer(request)));

function answer({ id, command }: Request): Answer {
  if (command === "close") {
    runner.close();
    return { id, type: "done", result: undefined };
  }
  const outcome = runner.run(command.name, command.values);
  return outcome.type === "failed"
    ? { id, type: "failed", error: packError(outcome.error) }
    : { id, ...outcome };
}
