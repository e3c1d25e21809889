import { expect, onTestFinished, test, vi } from "vitest";
import { WatchedService } from "../src/app/watched-service.ts";
import { newId } from "../src/core/ids.ts";
import { prometheusText } from "../src/core/traces.ts";
import { createSessionService, ephemeralStores, Meters } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { createRestApp, type RestOptions } from "../src/rest.ts";
import { scriptedModel } from "../src/testing.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresPlace } from "./support/postgres.ts";
import { Project } from "./support/rkat-process.ts";

/** What each line of the text says, by its name and labels. */
function numbersIn(text: string): Readonly<Record<string, number>> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", value] = /^(.*) (\S+)$/.exec(line) ?? [];
      return [name, Number(value)];
    }),
  );
}

function server(options: Partial<RestOptions> = {}) {
  const stores = ephemeralStores();
  const meters = new Meters();
  const model = scriptedModel(["The otter sleeps.", new Error("secret heron")]);
  const retry = { maxRetries: 0 };
  const service = createSessionService({ model, stores, meters, retry });
  const metrics = () => meters.read();
  const app = createRestApp({ service, metrics, ...options });
  const ask = (path: string, init: RequestInit = {}) =>
    app.fetch(new Request(`http://localhost${path}`, init));
  return { service, stores, ask };
}

test("the numbers of a server say how work ended and how long it took, and nothing that was said", async () => {
  const { service, ask } = server();
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "Where is the badger?" });
  await service.startTurn({ sessionId, prompt: "And now?" }).catch(() => {});
  await service.searchMemory({ query: "badger" });
  await ask(`/sessions/${sessionId}`);
  await ask("/sessions/not-there");
  const answer = await ask("/metrics");
  expect(answer.headers.get("content-type")).toContain("text/plain; version=0.0.4");
  const text = await answer.text();
  const numbers = numbersIn(text);
  expect(numbers).toMatchObject({
    'rkat_operations_total{operation="turn",outcome="ok"}': 1,
    'rkat_operations_total{operation="turn",outcome="PROVIDER_ERROR"}': 1,
    'rkat_operations_total{operation="search_memory",outcome="ok"}': 1,
    'rkat_operations_running{operation="turn"}': 0,
    'rkat_operation_duration_seconds_bucket{operation="turn",le="+Inf"}': 2,
    'rkat_operation_duration_seconds_count{operation="turn"}': 2,
    'rkat_http_requests_total{route="GET /sessions/{session_id}",status="200"}': 1,
    'rkat_http_requests_total{route="GET /sessions/{session_id}",status="404"}': 1,
    rkat_http_turns_running: 0,
  });
  expect(numbers['rkat_model_tokens_total{type="input"}']).toBeGreaterThan(0);
  for (const said of ["badger", "otter", "heron", sessionId, "not-there"]) {
    expect(text).not.toContain(said);
  }
  for (const line of text.trim().split("\n")) {
    expect(line).toMatch(
      /^# (?:HELP|TYPE) rkat_\w+ .+$|^rkat_\w+(?:\{(?:\w+="[^"\n]*",?)+\})? \S+$/,
    );
  }
});

test("the numbers are for who has the server's own token, and there are none unless they are given", async () => {
  const tokens = { token: "t".repeat(20), userTokens: { ada: "a".repeat(20) } };
  const { ask } = server(tokens);
  const as = (token: string, more = {}) => ({
    headers: { authorization: `Bearer ${token}`, ...more },
  });
  expect((await ask("/metrics")).status).toBe(401);
  const refused = await ask("/metrics", as(tokens.userTokens.ada));
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ hint: expect.stringContaining("RKAT_TOKEN") });
  expect((await ask("/metrics", as(tokens.token, { "x-rkat-user": "ada" }))).status).toBe(403);
  expect((await ask("/metrics", as(tokens.token))).status).toBe(200);
  const { service } = server();
  const without = createRestApp({ service });
  expect((await without.fetch(new Request("http://localhost/metrics"))).status).toBe(404);
});

test("a server is up, and not ready, while its store does not answer", async () => {
  let state: "well" | "broken" | "silent" = "well";
  let asked = 0;
  const ready = async () => {
    asked += 1;
    if (state === "broken") throw new Error("The disk of heron is full.");
    if (state === "silent") await new Promise(() => {});
  };
  const { ask } = server({ ready, token: "t".repeat(20) });
  const said = async () => {
    const answer = await ask("/ready");
    return [answer.status, await answer.json()];
  };
  expect(await said()).toEqual([200, { status: "ready" }]);
  state = "broken";
  expect(await said()).toEqual([503, { status: "unavailable" }]);
  expect((await ask("/health")).status).toBe(200);
  state = "silent";
  asked = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const many = Promise.all([said(), said(), said()]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(await many).toEqual(Array(3).fill([503, { status: "unavailable" }]));
  expect(asked).toBe(1);
});

test("a store that does not answer is down after two seconds, and the numbers of the work are there", async () => {
  const stores = ephemeralStores();
  let asked = 0;
  const leases = () => {
    asked += 1;
    return new Promise<never>(() => {});
  };
  const silent = { ...stores, sessions: Object.assign(Object.create(stores.sessions), { leases }) };
  const watched = new WatchedService();
  watched.opened(silent, "all");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const scrapes = Promise.all([watched.metrics(), watched.metrics()]);
  await vi.advanceTimersByTimeAsync(2000);
  for (const scraped of await scrapes) {
    expect(numbersIn(prometheusText(scraped))).toMatchObject({ rkat_store_up: 0 });
  }
  expect(asked).toBe(1);
});

test("rkat serve has the numbers of its store", async () => {
  const project = await Project.open();
  const { stderr, kill, ended } = serving(project);
  const url = await stderr;
  const numbers = numbersIn(await (await fetch(`${url}/metrics`)).text());
  expect(numbers).toMatchObject({
    rkat_store_up: 1,
    rkat_memory_backlog_events: 0,
    rkat_leases: 0,
  });
  expect(await (await fetch(`${url}/ready`)).json()).toEqual({ status: "ready" });
  kill("SIGTERM");
  await ended;
});

function serving(project: Project) {
  const { child, kill, ended } = project.start(["serve", "--port", "0"]);
  const stderr = new Promise<string>((resolve) => {
    let said = "";
    child.stderr?.on("data", (bytes: Buffer) => {
      said += bytes;
      const [, url] = /at (http:\S+)/.exec(said) ?? [];
      if (url) resolve(url);
    });
  });
  return { stderr, kill, ended };
}

test.skipIf(!hasPostgres)(
  "a store on PostgreSQL has numbers of its pool, and says when it is down",
  NEEDS_POSTGRES,
  async () => {
    const stores = postgresStores({ ...(await postgresPlace()), namespace: newId(), retryMs: 0 });
    const watched = new WatchedService();
    watched.opened(stores, "all");
    await watched.ready();
    const numbers = async () => numbersIn(prometheusText(await watched.metrics()));
    const found = await numbers();
    expect(found).toMatchObject({ rkat_store_up: 1, 'rkat_pool_connections{state="used"}': 0 });
    expect(found['rkat_pool_connections{state="idle"}']).toBeGreaterThan(0);
    await stores.close();
    expect(await numbers()).toMatchObject({ rkat_store_up: 0 });
    await expect(watched.ready()).rejects.toThrow("is closed");
  },
);
