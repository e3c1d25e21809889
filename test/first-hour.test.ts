import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import {
  type AddressInfo,
  createServer as createPlainServer,
  type Server,
  type Socket,
} from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { aiSdkModels } from "../src/ai-sdk.ts";
import { proxyNote } from "../src/core/bypass-proxy.ts";
import { SessionError } from "../src/core/errors.ts";
import { contactOf } from "../src/models/find-provider.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";
import { LONG, sampled } from "./support/trials.ts";

/** An address of this machine at which nothing listens. */
async function closedAddress(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${port}/v1`;
}

/** A server of models that notes what it was asked. */
async function modelServer(status = 200) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`);
    response.writeHead(status).end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { asked, url: `http://127.0.0.1:${port}/v1` };
}

// Takes over two seconds: a server that does not answer is tried again, with pauses.
test("an address that cannot be reached is named, with what to check and where it is set", async () => {
  const project = await Project.open();
  const closed = await closedAddress();
  for (const [url, env, why] of [
    [closed, "OPENAI_COMPATIBLE_BASE_URL", "ECONNREFUSED"],
    ["http://127.0.0.1:9/v1", "OPENAI_COMPATIBLE_BASE_URL", "bad port"],
    [closed, "RKAT_PROVIDERS__OPENAI_COMPATIBLE__BASE_URL", "ECONNREFUSED"],
  ] as const) {
    const given = { [env]: url, RKAT_MODEL: "openai-compatible/x" };
    const place = env.startsWith("RKAT") ? "base_url under [providers.openai-compatible]" : env;
    const doctor = await project.rkat(["doctor"], "", given);
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^✗ model .*no connection to/m);
    expect(doctor.stdout).toContain(`The address is from ${place}.`);
    if (place !== env) continue;
    const { code, stderr } = await project.rkat(["run", "hello"], "", given);
    expect(code).not.toBe(0);
    expect(stderr).toContain(`no connection to ${url}: `);
    expect(stderr).toContain(why);
    expect(stderr).toContain(`The address is from ${place}.`);
    expect(stderr).not.toContain("comes from the provider");
    // What is tried again says so meanwhile; a port that is never allowed is not tried again.
    expect(stderr.includes("Retrying (1 of 3)")).toBe(why !== "bad port");
  }
});

test("`doctor` asks a server of this machine, and no other before --online", async () => {
  const project = await Project.open();
  const local = await modelServer();
  const env = {
    OPENAI_COMPATIBLE_BASE_URL: local.url,
    OPENAI_COMPATIBLE_API_KEY: "sk-mine",
    RKAT_MODEL: "openai-compatible/x",
  };
  const found = await project.rkat(["doctor"], "", env);
  expect(found.stdout).toContain(`openai-compatible/x at ${local.url}: it answers`);
  expect(local.asked).toEqual(["GET /v1/models Bearer sk-mine"]);
  const refusing = await modelServer(401);
  const refused = await project.rkat(["doctor"], "", {
    ...env,
    OPENAI_COMPATIBLE_BASE_URL: refusing.url,
  });
  expect(refused.stdout).toMatch(
    /^✗ model .*HTTP 401.*Check the key in OPENAI_COMPATIBLE_API_KEY/m,
  );
  const away = await project.rkat(["doctor"], "", {
    ...env,
    OPENAI_COMPATIBLE_BASE_URL: "https://models.example.invalid/v1",
  });
  expect(away.stdout).toMatch(
    /^· model .*https:\/\/models\.example\.invalid\/v1 was not contacted: `rkat doctor --online`/m,
  );
});

/** What listens on a port, and what is said of it. */
const STRANGE: Readonly<Record<string, readonly [serve: () => Server, said: readonly string[]]>> = {
  "says nothing": [() => createPlainServer(() => {}), ["did not answer in time"]],
  "is another protocol's": [
    () => createPlainServer((socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n")),
    ["does not match the HTTP/1.1 protocol", "No web server listens there"],
  ],
  "has web pages": [
    () =>
      createServer((_, response) => {
        response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<html>");
      }),
    ["answers with a web page, so it is no server of models", "Check the base URL"],
  ],
  fails: [
    () => createServer((_, response) => response.writeHead(503).end("{}")),
    ["HTTP 503", "is from base_url under [providers.openai-compatible]"],
  ],
};

test.each(Object.entries(STRANGE))(
  "a port that %s is named, with what to check, by doctor's look and by a turn",
  async (_, [serve, said]) => {
    const server = serve().listen(0, "127.0.0.1");
    await once(server, "listening");
    const sockets = new Set<Socket>();
    server.on("connection", (socket: Socket) => sockets.add(socket));
    onTestFinished(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    const { port } = server.address() as AddressInfo;
    const baseUrls = { "openai-compatible": `http://127.0.0.1:${port}/v1` };
    const looked = contactOf("openai-compatible/x", { baseUrls }).ask(AbortSignal.timeout(200));
    const error = await looked.then(() => expect.fail(), SessionError.from);
    expect(error.code).toBe("PROVIDER_ERROR");
    const told = [`${error.message} ${error.hint}`];
    if (said[0] !== "did not answer in time") {
      const model = await aiSdkModels({ baseUrls })("openai-compatible/x");
      const request = {
        messages: [{ role: "user" as const, content: "Hi." }],
        tools: [],
        signal: AbortSignal.timeout(9000),
      };
      const failed = await Array.fromAsync(model.stream(request)).then(
        () => expect.fail(),
        SessionError.from,
      );
      told.push(`${failed.message} ${failed.hint}`);
    }
    for (const text of told) {
      for (const part of said) expect(text).toContain(part);
      expect(text).toContain(`127.0.0.1:${port}`);
    }
  },
);

test("what OpenSSL says of its own sources is left out where a server does not speak TLS", async () => {
  const { url } = await modelServer();
  const baseUrls = { "openai-compatible": url.replace("http:", "https:") };
  const looked = contactOf("openai-compatible/x", { baseUrls }).ask(AbortSignal.timeout(9000));
  const error = await looked.then(() => expect.fail(), SessionError.from);
  expect(error.message).toMatch(
    /no connection to https:.+: the server does not speak TLS as it should \(ERR_SSL_\w+\)\.$/,
  );
  expect(error.hint).toContain("whether it is http or https");
});

test("doctor gives no good mark to a server that it did not ask", async () => {
  const project = await Project.open();
  const given = { RKAT_MODEL: "openai/gpt-test", OPENAI_API_KEY: "test" };
  const { stdout } = await project.rkat(["doctor"], "", given);
  expect(stdout).toMatch(/^· model .*https:\/\/api\.openai\.com\/v1 was not contacted/m);
  expect(stdout).toMatch(/^· openai .*can be used/m);
  expect(stdout).toMatch(/^· ollama .*can be used/m);
});

test("a proxy of the environment is named where a server cannot be reached", () => {
  const env = { HTTPS_PROXY: "http://proxy:3128" };
  expect(proxyNote("https://api.example.com/v1", env)).toContain("only with NODE_USE_ENV_PROXY=1");
  const used = { ...env, NODE_USE_ENV_PROXY: "1" };
  expect(proxyNote("https://api.example.com/v1", used)).toContain("the proxy in HTTPS_PROXY");
  for (const address of ["http://api.example.com/v1", "https://localhost/v1"])
    expect(proxyNote(address, used)).toBe("");
});

test("a provider that is not known names its section, and the variable of its key", async () => {
  const project = await Project.open();
  const { stderr } = await project.rkat(["run", "-m", "openrouter/some/model", "hello"]);
  expect(stderr).toMatch(/base_url under \[providers\.openrouter\].* OPENROUTER_API_KEY/s);
});

test("a variable means the name that the user's file has, with its hyphen", async () => {
  const project = await Project.open();
  project.writeOwnConfig('[providers.my-server]\nbase_url = "http://127.0.0.1:1/v1"\n');
  const { stdout } = await project.rkat(["config"], "", {
    RKAT_PROVIDERS__MY_SERVER__BASE_URL: "http://127.0.0.1:2/v1",
    RKAT_PROVIDERS__OPENAI_COMPATIBLE__API_KEY_ENV: "MY_KEY",
    RKAT_PROVIDERS__MY_OTHER__API_KEY_ENV: "OTHER",
  });
  expect(stdout).toMatch(/providers\.my-server\.base_url +"http:\/\/127\.0\.0\.1:2\/v1"/);
  expect(stdout).toMatch(/providers\.openai-compatible\.api_key_env +"MY_KEY"/);
  expect(stdout).toMatch(/providers\.my_other\.api_key_env/);
  expect(stdout).not.toMatch(/my_server|openai_compatible/);
});

test("whatever a command says to type next has every flag that stood before it", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  const folder = join(project.folder, "..", "my notes");
  mkdirSync(folder);
  const flags = ["--dir", folder, "--user", "ada", "--store", "postgres://u:pw@127.0.0.1:1/x"];
  const called = `rkat --dir '${folder}' --user ada --store 'postgres://u:***@127.0.0.1:1/x'`;
  const commands = [
    ["sesions", "list"],
    ["run"],
    ["run", "hello", "-m", "ollama/x"],
    ["memory", "search"],
    ["memory", "add"],
    ["memory", "search", "nothing"],
    ["sessions", "show", "nosuch"],
    ["approvals", "revoke", "shell"],
    ["replay"],
    ["config", "--jsn"],
    ["import", "cursor"],
    ["init"],
  ];
  const told: string[] = [];
  for (const [at, store] of [[], flags.slice(4)].entries()) {
    for (const command of sampled(commands, { of: 2, at }, "cases")) {
      const { stdout, stderr } = await project.rkat([...flags.slice(0, 4), ...store, ...command]);
      const start = store.length > 0 ? called : called.replace(/ --store .*/, "");
      for (const [, found = ""] of `${stdout}${stderr}`.matchAll(/(?:`|then: )(rkat [^`\n]*)/g)) {
        if (found.endsWith("--help")) continue;
        told.push(found);
        expect(found.slice(0, start.length)).toBe(start);
        expect(found).not.toContain("pw");
      }
    }
  }
  expect(told.length).toBeGreaterThan(LONG ? 10 : 5);
});

test("the system prompt has the folder and the day, and two sessions of a day begin alike", async () => {
  const provider = await providerForTest();
  const project = await Project.open({ provider });
  for (const prompt of ["hello", "again"]) await project.rkat(["run", prompt]);
  const systems = provider.requests.map(
    ({ body }) =>
      JSON.stringify(body).match(
        /You work in [^.]*\. This session began on \d{4}-\d\d-\d\d \([^)]*\)\./,
      )?.[0],
  );
  expect(systems[0]).toContain(project.folder);
  expect(systems[0]).toBe(systems[1]);
});

test("a limit of nothing is refused, and does not say that nothing was found", async () => {
  const project = await Project.open();
  for (const command of [
    ["memory", "search", "x"],
    ["memory", "list"],
    ["history", "search", "x"],
    ["sessions", "list"],
    ["knowledge", "list"],
  ]) {
    const { code, stderr } = await project.rkat([...command, "--limit", "0"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("a whole number from 1 to")]);
  }
});

test("when every session is archived, that is what `last` says", async () => {
  const project = await Project.open();
  const { stdout } = await project.rkat(["sessions", "create", "-m", "ollama/a"]);
  await project.rkat(["sessions", "archive", stdout.trim()]);
  const { stderr } = await project.rkat(["continue", "go on"]);
  expect([stderr]).toEqual([expect.stringMatching(/Every session is archived.*unarchive/s)]);
});
