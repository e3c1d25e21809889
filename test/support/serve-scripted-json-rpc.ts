import { serveJsonRpc } from "../../src/json-rpc.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { scriptedService } from "./scripted-service.ts";

// Started by the tests: serves a scripted service on stores in a place, over this process's pipes.
const [place = "", setup = "{}", options = "{}"] = process.argv.slice(2);
const { service, close } = scriptedService(place, JSON.parse(setup) as ServiceSetup);
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
await serveJsonRpc({
  service,
  input: process.stdin,
  output: process.stdout,
  signal: stop.signal,
  ...JSON.parse(options),
});
await close();
