import { serveRest } from "../../src/rest.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { answerMemory } from "./answer-memory.ts";
import { scriptedService } from "./scripted-service.ts";

/**
 * A scripted service behind the real server, in a process of its own:
 * `node serve-scripted-rest.ts <place> <setup> [options]`. Says its address on
 * stdout and ends when it is told to.
 */
const [place = ".", setup = "{}", options = "{}"] = process.argv.slice(2);
const { service, close } = scriptedService(place, JSON.parse(setup) as ServiceSetup);
const server = await serveRest({ service, port: 0, ...JSON.parse(options) });
process.stdout.write(`${server.url}\n`);
answerMemory();
process.once("SIGTERM", async () => {
  await server.close({ graceMs: 0 });
  await close();
});
