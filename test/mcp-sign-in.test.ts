import { readdirSync, readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { mcpSignIn } from "../src/config/mcp-sign-ins.ts";
import type { McpServer } from "../src/core/mcp-server.ts";
import { openServerTools } from "../src/surfaces/mcp/server-tools.ts";
import { signInTo } from "../src/surfaces/mcp/sign-in.ts";
import { temporaryFolder } from "./support/obey.ts";
import { Project } from "./support/rkat-process.ts";
import { type SignedServer, signedMcpServer } from "./support/signed-mcp-server.ts";

const context = () => ({ sessionId: "s", toolUseId: "t", signal: new AbortController().signal });

async function home() {
  const folder = await temporaryFolder();
  const env = { RKAT_HOME: folder };
  return { folder, at: (url: string) => serverAt(url, env) };
}

function serverAt(url: string, env: Readonly<Record<string, string>>): McpServer {
  const signIn = mcpSignIn(url, env);
  return { name: "wiki", timeoutMs: 5_000, address: { url, headers: {}, isSse: false, signIn } };
}

const signedIn = (server: McpServer, { signInAt }: Pick<SignedServer, "signInAt">) => {
  const told: Promise<{ status: number; text: string }>[] = [];
  return signInTo(server, {
    signal: new AbortController().signal,
    show: async (address) => void told.push(signInAt(address.href)),
  }).then(async (asked) => ({ asked, told: await Promise.all(told) }));
};

test("a server that wants a sign-in says so, gives its tools after it, and its tokens are private, renewed, and gone after signing out", async () => {
  const wiki = await signedMcpServer();
  const { folder, at } = await home();
  const server = at(wiki.url);
  const before = await openServerTools([server]);
  await before.close();
  expect(before.problems).toEqual([
    "The MCP server wiki gives no tools: it wants you to sign in: `rkat mcp login wiki`.",
  ]);
  expect(wiki.asked).not.toContain("/register");

  const { asked, told } = await signedIn(server, wiki);
  expect([asked, told]).toEqual([
    true,
    [{ status: 200, text: "rkat is signed in. You can close this window.\n" }],
  ]);
  const kept = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  expect(kept).toHaveLength(1);
  const [file] = kept.map(({ parentPath, name }) => join(parentPath, name));
  if (process.platform !== "win32") {
    expect(statSync(file ?? "").mode & 0o777).toBe(0o600);
    expect(statSync(join(file ?? "", "..")).mode & 0o777).toBe(0o700);
  }
  expect(readFileSync(file ?? "", "utf8")).toContain(wiki.given.access[0]);

  const { tools, problems, close } = await openServerTools([server]);
  const look = async () => await tools()[0]?.execute({ page: "Deal" }, context());
  expect(problems).toEqual([]);
  expect(await look()).toEqual({ content: "the page Deal", is_error: false });
  wiki.expire(wiki.given.access[0] ?? "");
  expect(await look()).toEqual({ content: "the page Deal", is_error: false });
  expect(wiki.given.access).toHaveLength(2);
  expect(readFileSync(file ?? "", "utf8")).toContain(wiki.given.refresh[1]);

  // Two calls at once use up one refresh token.
  wiki.expire(wiki.given.access[1] ?? "");
  const both = await Promise.all([look(), look()]);
  expect(both).toEqual(both.map(() => ({ content: "the page Deal", is_error: false })));
  await close();

  server.address?.signIn?.remove();
  const after = await openServerTools([server]);
  await after.close();
  expect(after.problems.join()).toContain("rkat mcp login wiki");
});

test("tokens that are no longer taken are removed, and a call says to sign in again", async () => {
  const wiki = await signedMcpServer();
  const { at } = await home();
  const server = at(wiki.url);
  await signedIn(server, wiki);
  const issuer = new URL(wiki.url).origin;
  server.address?.signIn?.write({
    ...server.address.signIn.read(),
    tokens: { access_token: "old", token_type: "Bearer", refresh_token: "old", issuer },
  });
  const { problems, close } = await openServerTools([server]);
  await close();
  expect(problems.join()).toMatch(/Sign in again: `rkat mcp login wiki`/);
  expect(server.address?.signIn?.read()).toBeUndefined();
});

/** Time passes once a path is asked for, which is not answered. */
async function timePasses(wiki: SignedServer, path: string, work: () => Promise<unknown>) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const silent = wiki.silent(path);
    const done = work();
    done.catch(() => {});
    await silent;
    await vi.advanceTimersByTimeAsync(8_000);
    return await done;
  } finally {
    vi.useRealTimers();
    wiki.speak();
  }
}

test.each(["/token", "/.well-known/oauth-authorization-server"])(
  "a renewal that is not answered at %s ends with a sentence, and the next call renews",
  async (path) => {
    const wiki = await signedMcpServer();
    const { at } = await home();
    const server = at(wiki.url);
    await signedIn(server, wiki);
    const { tools, close } = await openServerTools([server]);
    const look = async () => await tools()[0]?.execute({ page: "Deal" }, context());
    wiki.expire(wiki.given.access[0] ?? "");
    const host = new URL(wiki.url).host;
    await expect(timePasses(wiki, path, look)).rejects.toThrow(
      `The MCP server wiki failed: the sign-in was not renewed: ${host} did not answer within 8 s.`,
    );
    expect(await look()).toEqual({ content: "the page Deal", is_error: false });
    await close();
  },
);

test("a sign-in whose token does not come ends with a sentence", async () => {
  const wiki = await signedMcpServer();
  const { at } = await home();
  const server = at(wiki.url);
  await expect(timePasses(wiki, "/token", () => signedIn(server, wiki))).rejects.toThrow(
    /^There is no sign-in to wiki: 127\.0\.0\.1:\d+ did not answer within 8 s\.$/,
  );
  expect(server.address?.signIn?.read()).toBeUndefined();
});

test("a sign-in that is denied, or comes back with another state, gives nothing", async () => {
  const wiki = await signedMcpServer({ denies: true });
  const { at } = await home();
  const server = at(wiki.url);
  const strangers: number[] = [];
  const denied = signedIn(server, {
    async signInAt(address) {
      const back = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
      back.search = "?code=stolen&state=guessed";
      strangers.push((await fetch(back)).status);
      return await wiki.signInAt(address);
    },
  });
  await expect(denied).rejects.toThrow(/There is no sign-in to wiki: .*access_denied/);
  expect(strangers).toEqual([404]);
  expect(server.address?.signIn?.read()).toBeUndefined();
});

test("a sign-in that is given up while its address is shown ends", async () => {
  const wiki = await signedMcpServer();
  const { at } = await home();
  const stop = new AbortController();
  const show = async () => stop.abort(new Error("given up"));
  await expect(signInTo(at(wiki.url), { signal: stop.signal, show })).rejects.toThrow("given up");
});

test("a browser that comes back twice is told twice how it went", async () => {
  const wiki = await signedMcpServer();
  const { at } = await home();
  const told: Promise<number>[] = [];
  const show = async (address: URL) => {
    const { headers } = await fetch(address, { redirect: "manual" });
    const back = headers.get("location") ?? "";
    for (let time = 0; time < 2; time += 1) told.push(fetch(back).then(({ status }) => status));
  };
  const { signal } = new AbortController();
  expect(await signInTo(at(wiki.url), { signal, show })).toBe(true);
  expect(await Promise.all(told)).toEqual([200, 200]);
});

test("a port in use is named, and whatever is asked at the port does not end the sign-in", async () => {
  const wiki = await signedMcpServer();
  const { at } = await home();
  const server = at(wiki.url);
  const statuses: string[] = [];
  const { asked } = await signedIn(server, {
    async signInAt(address) {
      const back = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
      for (const target of ["//", "http://[", "/callback?state", "*"]) {
        statuses.push(await rawAnswer(Number(back.port), `GET ${target} HTTP/1.1`));
      }
      const { signal } = new AbortController();
      const show = async () => {};
      await expect(signInTo(server, { signal, show, port: Number(back.port) })).rejects.toThrow(
        new RegExp(`^There is no sign-in to wiki: .*${back.port}`),
      );
      return await wiki.signInAt(address);
    },
  });
  expect(asked).toBe(true);
  expect(statuses).toEqual(Array.from({ length: 4 }, () => "HTTP/1.1 404 Not Found"));
});

/** The first line of what a port answers to a request. */
async function rawAnswer(port: number, request: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`${request}\r\nhost: rkat\r\nconnection: close\r\n\r\n`);
  return (await text(socket)).split("\r\n")[0] ?? "";
}

test("a sign-in is for one address: another server of the same name gets no token, and an open one asks for none", async () => {
  const [wiki, other] = [await signedMcpServer(), await signedMcpServer()];
  const { at } = await home();
  await signedIn(at(wiki.url), wiki);
  expect(at(other.url).address?.signIn?.read()).toBeUndefined();
  const { problems, close } = await openServerTools([at(other.url)]);
  await close();
  expect(problems.join()).toContain("rkat mcp login wiki");
  expect((await signedIn(at(wiki.url), wiki)).asked).toBe(true);
});

test("a server that shows its tools to all, and asks who calls them, can be signed in to", async () => {
  const wiki = await signedMcpServer({ shows: true });
  const server = (await home()).at(wiki.url);
  const look = async () => {
    const { tools, close } = await openServerTools([server]);
    return await tools()[0]?.execute({ page: "home" }, context()).finally(close);
  };
  await expect(look()).rejects.toThrow("it wants you to sign in: `rkat mcp login wiki`");
  expect((await signedIn(server, wiki)).asked).toBe(true);
  expect(await look()).toEqual({ content: "the page home", is_error: false });
});

test("a server that registers no clients is signed in to with the id of one, and the hint says so", async () => {
  const wiki = await signedMcpServer({ registers: false });
  const server = (await home()).at(wiki.url);
  await expect(signedIn(server, wiki)).rejects.toMatchObject({
    hint: expect.stringContaining("--client-id"),
  });
});

test("`rkat mcp login` prints where to sign in, `list` shows it, and `logout` and `remove` take it back", async () => {
  const wiki = await signedMcpServer();
  const project = await Project.open();
  const own = serverAt(wiki.url, project.env);
  const add = () => project.rkat(["mcp", "add", "wiki", "--url", wiki.url]);
  await add();
  const login = async (
    answer: (address: string, kill: (signal: NodeJS.Signals) => void) => unknown,
    ...flags: string[]
  ) => {
    const child = project.start(["mcp", "login", "wiki", "--no-open", ...flags]);
    let stderr = "";
    const address = new Promise<string>((found) => {
      child.child.stderr?.on("data", (chunk: Buffer) => {
        stderr += chunk.toString("utf8");
        const [, link] = /^Sign in at (\S+)\n/m.exec(stderr) ?? [];
        if (link) found(link);
      });
    });
    const shown = await Promise.race([address, child.ended.then(() => "")]);
    await answer(shown, child.kill);
    return await child.ended;
  };
  expect(await login(wiki.signInAt)).toMatchObject({
    code: 0,
    stdout: "Signed in to wiki: 1 tool.\n",
  });
  const state = async () => {
    const { servers } = (await project.json(["mcp", "list", "--json"])) as { servers: object[] };
    return servers[0];
  };
  expect(await state()).toMatchObject({ name: "wiki", state: "on", signed_in: true });
  await project.rkat(["mcp", "remove", "wiki"]);
  await add();
  expect(await state()).toMatchObject({ signed_in: false });
  await signedIn(own, wiki);
  expect(await state()).toMatchObject({ signed_in: true });
  const { stdout } = await project.rkat(["mcp", "logout", "wiki"]);
  expect(stdout).toBe("Signed out of wiki.\n");
  expect(own.address?.signIn?.read()).toBeUndefined();
  const json = (line: string) => JSON.parse(line) as unknown;
  const signedInAgain = await login(wiki.signInAt, "--json");
  expect(json(signedInAgain.stdout)).toEqual({ name: "wiki", signed_in: true, tools: 1 });
  const out = async () => (await project.rkat(["mcp", "logout", "wiki", "--json"])).stdout;
  expect([json(await out()), json(await out())]).toEqual([
    { name: "wiki", signed_out: true },
    { name: "wiki", signed_out: false },
  ]);
  const { code } = await login((_, kill) => kill("SIGINT"));
  expect(code).toBe(130);
  expect((await project.rkat(["mcp", "login", "nosuch"])).stderr).toMatch(
    /no MCP server called "nosuch"/,
  );
});
