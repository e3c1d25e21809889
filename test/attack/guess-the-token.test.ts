import { expect, onTestFinished, test } from "vitest";
import { SessionError } from "../../src/index.ts";
import { serveMcpHttp } from "../../src/mcp.ts";
import { serveRest } from "../../src/rest.ts";
import { BUILDS } from "../../src/testing.ts";
import { temporaryFolder } from "../support/obey.ts";
import { scriptedService } from "../support/scripted-service.ts";

const WEAK = ["secret", "0123456789abcde", "aaaaaaaaaaaaaaaaaaaaaaaa", "abcabcabcabcabcabcabc"];
const STRONG = ["correct-horse-battery-staple", "9f2c1e7ab4d05863", crypto.randomUUID()];

async function service() {
  const { service } = await scriptedService(await temporaryFolder(), {
    capabilities: BUILDS.A ?? [],
  });
  return service;
}

test.each([
  ["REST", serveRest],
  ["MCP", serveMcpHttp],
])("a server that others can reach refuses a weak token: %s", async (_, serve) => {
  for (const host of ["0.0.0.0", "::"]) {
    for (const token of WEAK) {
      const refused = serve({ service: await service(), port: 0, host, token });
      const failure = SessionError.from(await refused.catch((error) => error));
      expect(failure.code).toBe("INVALID_CONFIG");
      expect(failure.message).toMatch(/the token is too weak/);
      expect(failure.message).not.toContain(token);
      expect(failure.hint).toContain("openssl rand");
    }
  }
  for (const token of STRONG) {
    const server = await serve({ service: await service(), port: 0, host: "0.0.0.0", token });
    onTestFinished(() => server.close({ graceMs: 0 }));
  }
});

test("on this machine only, any token will do", async () => {
  const server = await serveRest({ service: await service(), port: 0, token: "short" });
  await server.close({ graceMs: 0 });
});
