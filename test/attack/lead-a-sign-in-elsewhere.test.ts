import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { mcpSignIn } from "../../src/config/mcp-sign-ins.ts";
import { timelyFetch } from "../../src/surfaces/mcp/server-transport.ts";
import { signInTo } from "../../src/surfaces/mcp/sign-in.ts";
import { temporaryFolder } from "../support/obey.ts";

/** Addresses that an attacker cannot reach, and rkat could. */
const INSIDE = ["http://169.254.169.254", "http://10.0.0.1:9", "http://[fe80::1]", "http://router"];

/** What a server says of how to sign in, with one address in it that is elsewhere. */
const LEADS = {
  "the server that signs people in": (origin: string, to: string) => ({
    resource: `${origin}/mcp`,
    authorization_servers: [to],
  }),
  "where clients register": (origin: string, to: string) => metadata(origin, { registration: to }),
  "where tokens are given": (origin: string, to: string) => metadata(origin, { token: to }),
};

function metadata(origin: string, { registration = origin, token = origin }) {
  return {
    resource: `${origin}/mcp`,
    authorization_servers: [origin],
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    registration_endpoint: `${registration}/register`,
    token_endpoint: `${token}/token`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
  };
}

/** A server that asks for a sign-in, and answers everything else with the same. */
async function serverThatSays(said: (origin: string) => object): Promise<string> {
  const server = createServer((request, response) => {
    const isMcp = request.url === "/mcp";
    request.resume();
    response.writeHead(isMcp ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ client_id: "c", redirect_uris: [], ...said(origin) }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return origin;
}

test.each(Object.entries(LEADS))("a server leads a sign-in nowhere inside: %s", async (_, said) => {
  for (const inside of INSIDE) {
    const origin = await serverThatSays((own) => said(own, inside));
    const address = { url: `${origin}/mcp`, headers: {}, isSse: false };
    const signIn = mcpSignIn(address.url, { RKAT_HOME: await temporaryFolder() });
    const server = { name: "it", timeoutMs: 5_000, address: { ...address, signIn } };
    const { signal } = new AbortController();
    const show = async (page: URL) => {
      const back = new URL(page.searchParams.get("redirect_uri") ?? "");
      back.search = `?code=c&state=${page.searchParams.get("state")}`;
      void fetch(back);
    };
    await expect(signInTo(server, { signal, show })).rejects.toThrow(/without TLS|non-TLS|https/i);
    expect(signIn.read()).toBeUndefined();
  }
});

test("a server elsewhere leads rkat to nothing on this machine", async () => {
  const asked: string[] = [];
  const origin = await serverThatSays((own) => {
    asked.push(own);
    return metadata(own, {});
  });
  for (const from of ["https://mcp.example/mcp", "http://mcp.example/mcp", "http://10.0.0.1/mcp"]) {
    await expect(timelyFetch(from)(`${origin}/register`)).rejects.toThrow(/without TLS/);
  }
  expect(asked).toEqual([]);
  expect((await timelyFetch(`${origin}/mcp`)(`${origin}/register`)).status).toBe(200);
  expect((await timelyFetch("http://localhost/mcp")(`${origin}/register`)).status).toBe(200);
});
