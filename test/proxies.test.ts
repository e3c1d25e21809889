import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { serveMcpHttp } from "../src/mcp.ts";
import { serveRest } from "../src/rest.ts";
import { BUILDS } from "../src/testing.ts";
import { IMPORTS_BUILT_PACKAGE } from "./support/built-package.ts";
import { temporaryFolder } from "./support/obey.ts";
import { startProviderServer } from "./support/provider-server/provider-server.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedService } from "./support/scripted-service.ts";
import { execFile } from "./support/start-process.ts";

/** A proxy that records what it is asked for, and the environment in which Node uses it. */
async function openProxy() {
  const asked: string[] = [];
  const proxy = createServer((request, response) => {
    asked.push(String(request.url));
    response.writeHead(502).end();
  });
  proxy.on("connect", (request, socket) => {
    asked.push(String(request.url));
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return {
    asked,
    env: { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: url, NO_PROXY: "elsewhere.invalid" },
  };
}

const run = promisify(execFile);

// Takes over two seconds: what a proxy refuses is tried again, with pauses.
test("a model on this machine is asked without the proxy, and one elsewhere through it", async () => {
  const { asked, env } = await openProxy();
  const provider = await startProviderServer(["It listens on port 4310."]);
  onTestFinished(() => provider.close());
  const project = await Project.open({ provider, ownProcesses: true });
  const here = await project.rkat(["run", "Which port?"], "", env);
  expect(here).toMatchObject({ code: 0, stdout: expect.stringContaining("port 4310") });
  expect(asked).toEqual([]);
  await project.rkat(["run", "Which port?"], "", {
    ...env,
    OPENAI_BASE_URL: "http://model.invalid/v1",
  });
  expect(asked[0]).toContain("model.invalid");
});

test("clients reach a server on this machine without the proxy, and leave other requests to it", async () => {
  const { asked, env } = await openProxy();
  const { service, close } = scriptedService(await temporaryFolder(), {
    capabilities: BUILDS.F ?? [],
  });
  const rest = await serveRest({ service, port: 0 });
  const mcp = await serveMcpHttp({ service, tools: ["all"], port: 0 });
  onTestFinished(async () => {
    await Promise.all([rest.close(), mcp.close()]);
    await close();
  });
  const program = `
    import { connectMcp } from "rkat/mcp";
    import { connectRest } from "rkat/rest";
    const overRest = connectRest({ url: process.argv[1] });
    const overMcp = await connectMcp({ url: process.argv[2] });
    const { sessionId } = await overRest.createSession({});
    console.log((await overMcp.read({ sessionId })).sessionId === sessionId);
    await overRest.close();
    await overMcp.close();
    await fetch("http://elsewhere.test/").catch(() => {});
    console.log(process.env.NO_PROXY);
  `;
  const { stdout } = await run(
    process.execPath,
    [...IMPORTS_BUILT_PACKAGE, "--input-type=module", "-e", program, rest.url, `${mcp.url}`],
    { env },
  );
  expect(stdout).toBe("true\nelsewhere.invalid,127.0.0.1\n");
  expect(asked).toHaveLength(1);
  expect(asked[0]).toContain("elsewhere.test");
});
