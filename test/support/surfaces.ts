import { PassThrough } from "node:stream";
import { onTestFinished } from "vitest";
import type { SessionService } from "../../src/index.ts";
import { connectJsonRpc, serveJsonRpc } from "../../src/json-rpc.ts";
import { connectMcp, serveMcpHttp } from "../../src/mcp.ts";
import { connectRest, serveRest } from "../../src/rest.ts";

/** A service of this process, and what ends it. */
export interface OpenedService {
  readonly service: SessionService;
  close(): Promise<void>;
}

/** A client of the service over JSON-RPC, on streams. */
export function overJsonRpc({ service, close }: OpenedService): SessionService {
  const [requests, answers] = [new PassThrough(), new PassThrough()];
  const served = serveJsonRpc({ service, input: requests, output: answers });
  const client = connectJsonRpc({ input: answers, output: requests });
  return closingWith(client, async () => {
    await served;
    await close();
  });
}

/** A client of the service over REST, through a port of this machine. */
export async function overRest({ service, close }: OpenedService): Promise<SessionService> {
  const server = await serveRest({ service, port: 0 });
  return closingWith(connectRest({ url: server.url }), async () => {
    await server.close({ graceMs: 0 });
    await close();
  });
}

/** A client of the service over MCP, through a port of this machine. */
export async function overMcp(
  { service, close }: OpenedService,
  era: "legacy" | "modern",
): Promise<SessionService> {
  const server = await serveMcpHttp({ service, tools: ["all"], port: 0 });
  return closingWith(await connectMcp({ url: server.url, era }), async () => {
    await server.close();
    await close();
  });
}

/** The client, which ends its server when it is closed, and is closed when the test ends. */
export function closingWith(
  client: SessionService,
  endServer: () => Promise<void>,
): SessionService {
  const close = async () => {
    await client.close();
    await endServer();
  };
  onTestFinished(close);
  return { ...client, close };
}
