import { serveMcpHttp, serveMcpStdio } from "../../src/mcp.ts";
import type { ServiceSetup } from "../../src/testing.ts";
import { say } from "./say.ts";
import { scriptedService } from "./scripted-service.ts";

// Started by the tests: serves a scripted service on stores in a place, over this process's pipes,
// or over HTTP when the options name a port; then its address is the one line that it prints.
const [place = "", setup = "{}", http] = process.argv.slice(2);
const given = JSON.parse(setup) as ServiceSetup;
// Over MCP a client answers as a model, which it may only where the service says so.
const approvals = given.approvals && { answerers: ["user", "model"] as const, ...given.approvals };
const { service, close } = scriptedService(place, {
  ...given,
  ...(approvals ? { approvals } : {}),
});
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());

const { mcpTools = ["all"] } = JSON.parse(setup) as { readonly mcpTools?: readonly string[] };
if (http === undefined) await serveMcpStdio({ service, tools: mcpTools, signal: stop.signal });
else {
  const server = await serveMcpHttp({ service, tools: mcpTools, port: 0, ...JSON.parse(http) });
  say(server.url);
  await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
  await server.close();
}
await close();
