import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type EventEnvelope, SessionError, type SessionService } from "../src/index.ts";
import { connectRest } from "../src/rest.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES, postgresUrl } from "./support/postgres.ts";
import { type RestProcess, startProgram } from "./support/rest-process.ts";
import { type RoundRobin, roundRobin } from "./support/round-robin.ts";
import { sampled } from "./support/trials.ts";

describe.skipIf(!hasPostgres)(
  "three servers on one PostgreSQL, behind a load balancer",
  NEEDS_POSTGRES,
  () => {
    // Takes over two seconds: it starts three servers.
    test("a turn of one is watched at another, interrupted and continued at others, and its call is answered at another", async () => {
      const servers = await threeServers();
      await watchedAndInterrupted(servers);
      await answeredElsewhere(servers);
    });

    // Over two seconds: three servers start, and between machines a lease of fifteen seconds has to end. What a lease
    // is keeps its own laws, so the short form has the kill on one machine, where the lease is taken at once.
    const MACHINES = [
      ["one machine goes on at another at once", ["ant", "ant", "ant"]],
      ["several machines goes on at another, within its lease", ["ant", "bee", "cat"]],
    ] as const;
    const some = sampled(MACHINES, { of: 2, at: 0 }, "crash points");
    test.each(some)("what a killed one was doing on %s", async (_, machines) => {
      const { service, balancer, servers } = await threeServers(machines);
      const made = await Promise.all([service.createSession({}), service.createSession({})]);
      const [waits, asks] = made.map(({ sessionId }) => sessionId) as [string, string];
      const events = watch(service, waits);
      const turns = [
        failure(service.startTurn({ sessionId: waits, prompt: "Wait for me." })),
        failure(service.startTurn({ sessionId: asks, prompt: "What time is it?" })),
      ];
      await expect.poll(() => types(events)).toContain("turn_started");
      const approvalId = await waitingCall(service, asks);
      // Both that run a turn: one server is left.
      const killed = new Set(balancer.serversOf("POST", "/messages"));
      expect(killed.size).toBe(2);
      await Promise.all([...killed].map((server) => servers[server]?.end("SIGKILL")));
      await Promise.all(turns);

      await service.answerApproval({ sessionId: asks, approvalId, decision: "allow" });
      const went = await Promise.all([
        onceFree(() => service.startTurn({ sessionId: waits, prompt: "Hello" })),
        onceFree(() => service.resume({ sessionId: asks })),
      ]);
      expect(went.map(({ text }) => text)).toEqual(['You said: "Hello"', "It is late."]);
      await expect.poll(() => types(events)).toContain("run_completed");
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    });
  },
);

interface Servers {
  readonly service: SessionService;
  readonly balancer: RoundRobin;
  readonly servers: readonly RestProcess[];
}

async function threeServers(machines: readonly string[] = ["ant", "bee", "cat"]): Promise<Servers> {
  const place = [await postgresUrl(), await freshSchema()];
  const servers = await Promise.all(
    machines.map((machine) => startProgram("serve-postgres-rest", place, otherMachine(machine))),
  );
  const balancer = await roundRobin(servers.map(({ url }) => url));
  return { service: connectRest({ url: balancer.url }), balancer, servers };
}

async function watchedAndInterrupted({ service, balancer }: Servers): Promise<void> {
  const { sessionId } = await service.createSession({});
  const events = watch(service, sessionId);
  await expect.poll(() => types(events)).toContain("session_created");

  const turn = failure(service.startTurn({ sessionId, prompt: "Wait for me." }));
  await expect.poll(() => types(events)).toContain("run_started");
  await expect(failure(service.startTurn({ sessionId, prompt: "Me too." }))).resolves.toMatchObject(
    { code: "SESSION_BUSY" },
  );
  await service.interrupt({ sessionId });
  expect(await turn).toMatchObject({ code: "TURN_INTERRUPTED" });
  await expect.poll(() => types(events)).toContain("run_failed");

  const answers = await Promise.all([
    service.startTurn({ sessionId, prompt: "Hello" }),
    service.read({ sessionId }),
  ]);
  expect(answers[0].text).toBe('You said: "Hello"');
  await expect.poll(() => types(events)).toContain("run_completed");
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const [turn1] = balancer.serversOf("POST", "/messages");
  expect(balancer.serversOf("POST", "/interrupt")).not.toContain(turn1);
  expect(balancer.serversOf("GET", "/events")).not.toContain(turn1);
}

async function answeredElsewhere({ service, balancer }: Servers): Promise<void> {
  const { sessionId } = await service.createSession({});
  const turn = service.startTurn({ sessionId, prompt: "What time is it?" });
  const approvalId = await waitingCall(service, sessionId);
  // Whichever server looks for calls, the next one gets the answer: it may be that of the turn.
  const [asked] = balancer.serversOf("POST", `${sessionId}/messages`);
  while (balancer.next() === asked) await service.listApprovals({});
  await service.answerApproval({ sessionId, approvalId, decision: "allow" });
  expect((await turn).text).toBe("It is late.");
  expect(balancer.serversOf("POST", `/approvals/${approvalId}`)).not.toContain(asked);
}

/** Processes of one machine see that another one has ended. Those of another machine wait for its lease. */
function otherMachine(name: string): string {
  return `process.getBuiltinModule("node:os").hostname = () => "${name}";`;
}

/** The durable events of a session from its first one on, as they come. */
function watch(service: SessionService, sessionId: string): readonly EventEnvelope[] {
  const events: EventEnvelope[] = [];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const read = async () => {
    const watched = service.subscribe({ sessionId, afterSeq: 0 }, { signal: stop.signal });
    for await (const event of watched) if (event.payload.type !== "text_delta") events.push(event);
  };
  read().catch(() => {});
  return events;
}

function types(events: readonly EventEnvelope[]): readonly string[] {
  return events.map(({ payload }) => payload.type);
}

async function waitingCall(service: SessionService, sessionId: string): Promise<string> {
  const calls = () => service.listApprovals({ sessionId });
  await expect.poll(calls).toHaveLength(1);
  const [call] = await calls();
  return call?.approvalId ?? expect.fail("It was answered.");
}

async function failure(work: Promise<unknown>): Promise<SessionError> {
  const error = await work.then(
    () => expect.fail("It did not fail."),
    (error) => error,
  );
  if (!SessionError.is(error)) throw error;
  return error;
}

/** A lease lasts 15 seconds. */
const WAIT_MS = 30_000;

/** Repeats the work while the session belongs to another process. */
async function onceFree<T>(work: () => Promise<T>): Promise<T> {
  const givesUpAt = performance.now() + WAIT_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isBusy = SessionError.is(error) && error.code === "SESSION_BUSY";
      if (!isBusy || performance.now() > givesUpAt) throw error;
      await sleep(200);
    }
  }
}
