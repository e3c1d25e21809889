import { serveJsonRpc } from "../../json-rpc.ts";
import { serveMcpStdio } from "../../mcp.ts";
import { serveRest } from "../../rest.ts";
import { scriptedService } from "./scripted-service.ts";

// Started by the surfaces task: serves a scripted service, and ends when the one who started it does.
const [surface = "", place = ""] = process.argv.slice(2);
const { service, close } = scriptedService(place);
const { stdin: input, stdout: output } = process;
if (surface === "json-rpc") await serveJsonRpc({ service, input, output });
else if (surface === "mcp") await serveMcpStdio({ service });
else {
  const server = await serveRest({ service, port: 0 });
  process.send?.(server.url);
  await new Promise((resolve) => process.once("disconnect", resolve));
  await server.close({ graceMs: 0 });
}
await close();
