import { serveJsonRpc } from "rkat/json-rpc";
import { serveMcpStdio } from "rkat/mcp";
import { serveRest } from "rkat/rest";
import { scriptedService } from "./scripted-service.ts";

// Started by the surfaces task: serves a scripted service, and ends when the one who started it does.
const [surface = "", place = ""] = process.argv.slice(2);
const { service, close } = scriptedService(place);
const { stdin: input, stdout: output } = process;
if (surface === "json-rpc") await serveJsonRpc({ service, input, output });
else if (surface === "mcp") await serveMcpStdio({ service, tools: ["all"] });
else {
  const server = await serveRest({ service, port: 0 });
  process.send?.(server.url);
  await new Promise((resolve) => process.once("disconnect", resolve));
  await server.close({ graceMs: 0 });
}
await close();
