// Three rkat servers on one PostgreSQL behind a load balancer, without containers. The model is a program on this
// machine. A turn runs at one server, you watch it at another, and you read it at a third.
//
//   node examples/postgres/servers.ts            (no key; needs PostgreSQL's programs, or RKAT_STORE)
//   node examples/postgres/servers.ts --keep     (the servers run until Ctrl-C)
import assert from "node:assert/strict";
import { once } from "node:events";
import { chownSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connectRest } from "rkat/rest";
import { startProviderServer } from "../../test/support/provider-server/provider-server.ts";
import { type ChildProcess, execFileSync, spawn } from "../../test/support/start-process.ts";

const RKAT = fileURLToPath(new URL("../bin/rkat.js", import.meta.resolve("rkat")));
const SERVERS = 3;

// PostgreSQL may run as another user, who must be able to enter this folder.
const folder = mkdtempSync("/tmp/rkat-servers-");
const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
const interrupted = new Promise<"interrupted">((resolve) => {
  // Ctrl-C may come twice, from the terminal and from npx. Stopping takes a moment and is not cut off.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => resolve("interrupted"));
});

try {
  await Promise.race([main(), interrupted]);
} finally {
  for (const stop of stops.reverse()) await stop();
}

async function main(): Promise<void> {
  const store = process.env.RKAT_STORE ?? startPostgres();
  const answering = Promise.withResolvers<void>();
  const provider = await startProviderServer(async () => {
    await answering.promise;
    return "It listens on port 4310.";
  });
  stops.push(() => provider.close());
  const env = {
    PGPASSWORD: process.env.PGPASSWORD,
    RKAT_STORE: store,
    RKAT_MODEL: "openai/local",
    OPENAI_BASE_URL: provider.urls.openai,
    OPENAI_API_KEY: "none",
  };
  const names = Array.from({ length: SERVERS }, (_, index) => `server ${index + 1}`);
  const urls = await Promise.all(names.map((name) => startServer(join(folder, name), env)));
  const url = await startBalancer(urls);
  // A server that stops gives its turn time to end.
  stops.push(answering.resolve);

  await talk(url, answering.resolve);
  if (!process.argv.includes("--keep")) return;
  console.log(`\nThe load balancer is at ${url}. Press Ctrl-C to stop everything. Try this twice:`);
  console.log(`  curl -s ${url}/sessions`);
  await interrupted;
}

/** A turn that waits for its model while another server watches it. */
async function talk(url: string, letModelAnswer: () => void): Promise<void> {
  const sessions = connectRest({ url });
  const { sessionId } = await sessions.createSession({});
  // A subscription connects again when it is cut off, until you end it.
  const stop = new AbortController();
  stops.push(() => stop.abort());
  const watch = async () => {
    const events = sessions.subscribe({ sessionId, afterSeq: 0 }, { signal: stop.signal });
    for await (const { payload } of events) {
      if (payload.type === "turn_started") letModelAnswer();
      if (payload.type === "run_completed") return;
    }
  };
  const turn = sessions.startTurn({ sessionId, prompt: "Which port does staging listen on?" });
  const [{ text }] = await Promise.all([turn, watch()]);
  const { history } = await sessions.read({ sessionId });
  assert(JSON.stringify(history.at(-1)).includes(text), "The last server reads what was said.");
  console.log(`All of them have the answer: ${text}`);
}

/** Makes a cluster of its own, and returns its address. */
function startPostgres(): string {
  const path = (process.env.PATH ?? "").split(":");
  const programs = [...path, ...globSync("/usr/lib/postgresql/*/bin")];
  const bin = programs.find((folder) => existsSync(join(folder, "pg_ctl")));
  assert(bin, "Install PostgreSQL, or set RKAT_STORE to the address of a database.");
  const data = join(folder, "data");
  const owner = postgresUser();
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const run = (program: string, args: readonly string[]) =>
    execFileSync(join(bin, program), ["-D", data, ...args], {
      ...owner,
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    });
  run("initdb", ["-U", "rkat", "-A", "trust", "-E", "UTF8", "--no-locale"]);
  // It listens at a socket in the folder and at no port, so that no other port has to be free.
  const options = `-c listen_addresses= -c unix_socket_directories=${folder}`;
  run("pg_ctl", ["-w", "-l", join(folder, "log"), "-o", options, "start"]);
  stops.push(() => run("pg_ctl", ["-m", "fast", "stop"]));
  return `postgres://rkat@${encodeURIComponent(folder)}/postgres`;
}

/** PostgreSQL refuses to run as root. Root starts it as the user that its package made. */
function postgresUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/** Starts `rkat serve` in a project and a home of its own, and returns its address. */
async function startServer(home: string, env: NodeJS.ProcessEnv): Promise<string> {
  mkdirSync(home);
  const server = spawn(process.execPath, [RKAT, "serve", "--port", "0"], {
    cwd: home,
    env: { ...env, HOME: home },
    stdio: ["ignore", "ignore", "pipe"],
  });
  stops.push(() => stopServer(server));
  const said: string[] = [];
  for await (const line of createInterface({ input: server.stderr })) {
    said.push(line);
    const [url] = /http:\S+/.exec(line) ?? [];
    if (!url) continue;
    server.stderr.resume();
    return url;
  }
  throw new Error(`A server did not start:\n${said.join("\n")}`);
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  await ended;
}

/** Gives each request to the next server, and says to which. */
async function startBalancer(servers: readonly string[]): Promise<string> {
  let requests = 0;
  const balancer = createServer((request, response) => {
    const server = requests % servers.length;
    requests += 1;
    const { method, headers, url: path = "/" } = request;
    console.log(`server ${server + 1}: ${method} ${path.replace(/[\da-f-]{36}/, "…")}`);
    const passed = send(new URL(path, servers[server]), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    request.pipe(passed);
  });
  balancer.listen(0, "127.0.0.1");
  await once(balancer, "listening");
  stops.push(
    () => balancer.closeAllConnections(),
    () => balancer.close(),
  );
  return `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`;
}
