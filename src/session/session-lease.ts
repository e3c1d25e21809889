import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { SessionError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import type { HeldLease, LeaseOwner, SessionStore } from "../core/session-store.ts";
import type { ProjectionLease } from "../projections/projection-runner.ts";

/** Lifetime of a lease without renewal. After a kill, another machine waits this long. */
const LEASE_MS = 15_000;

/** This process, as the owner of leases. Two services in one process are two owners. */
export function newOwner(): LeaseOwner {
  let id: string | undefined;
  return {
    // Made with the first lease: a process that only reads takes none, and Node loads its crypto for it.
    get id() {
      id ??= newId();
      return id;
    },
    host: `${hostname()} ${processSpace()}`,
    pid: process.pid,
  };
}

/**
 * The PID namespace. Containers may share a volume and a host name, but not process ids.
 */
function processSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // Not Linux: all processes of the host share one namespace.
    return "";
  }
}

const SESSION_KEY = "session:";

/** Saves the state when work under a lease ends. */
export type SaveLast = (snapshot: SessionSnapshot) => void;

/**
 * Runs `work` under the session's lease: no other process works on the session meanwhile. The last snapshot is saved with
 * the release of the lease, in one step if the store has it.
 *
 * @throws SessionError `SESSION_BUSY` when another owner has the lease.
 */
export async function withLease<T>(
  sessions: SessionStore,
  sessionId: string,
  owner: LeaseOwner,
  work: (held: HeldLease, saveLast: SaveLast) => Promise<T>,
): Promise<T> {
  const key = SESSION_KEY + sessionId;
  if (!(await sessions.acquire(key, owner, LEASE_MS))) {
    throw new SessionError("SESSION_BUSY", {
      message: "Another process is running a turn in this session.",
    });
  }
  const held = { key, owner };
  let last: SessionSnapshot | undefined;
  const saveLast: SaveLast = (snapshot) => {
    last = snapshot;
  };
  return await renewed(
    sessions,
    held,
    () => work(held, saveLast),
    async () => {
      if (last) await (sessions.saveAndRelease?.(last, held) ?? sessions.save(last, held));
      return last !== undefined && sessions.saveAndRelease !== undefined;
    },
  );
}

/** Asks the process that works on the session to stop. Returns false when there is none. */
export function stopElsewhere(sessions: SessionStore, sessionId: string): Promise<boolean> {
  return sessions.askToStop(SESSION_KEY + sessionId);
}

/** The sessions of this owner that another process asked to stop. */
export async function stoppedSessions(
  sessions: SessionStore,
  owner: LeaseOwner,
): Promise<readonly string[]> {
  const keys = await sessions.askedToStop(owner);
  return keys.flatMap((key) =>
    key.startsWith(SESSION_KEY) ? [key.slice(SESSION_KEY.length)] : [],
  );
}

const FILES_POLL_MS = 20;

/** How often files are written again because other processes took the lease meanwhile. */
const FILES_TRIES = 5;

/**
 * Runs `work` under the lease on the projected files: of all processes, one writes them at a time.
 * The others wait for their turn. When another one took the lease meanwhile, because this process was suspended or the
 * clock jumped, both have written: the work is done again.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when its turn does not come within two lengths of a lease
 */
export async function withFilesLease(
  sessions: SessionStore,
  owner: LeaseOwner,
  work: (again?: "again") => Promise<void>,
): Promise<void> {
  for (let tries = 1; tries <= FILES_TRIES; tries += 1) {
    await acquireFiles(sessions, owner);
    if (await isDoneAlone(sessions, owner, () => work(tries > 1 ? "again" : undefined))) return;
    // Processes whose clocks differ take it from each other.
    await sleep(tries * FILES_POLL_MS * (1 + 4 * Math.random()));
  }
  throw filesAreBusy();
}

/** Returns false when another process wrote too; whatever failed then is worth nothing. */
async function isDoneAlone(
  sessions: SessionStore,
  owner: LeaseOwner,
  work: () => Promise<void>,
): Promise<boolean> {
  return await renewed(sessions, { key: FILES_KEY, owner }, async () => {
    const isHeld = async () => (await sessions.renew?.(FILES_KEY, owner, LEASE_MS)) ?? true;
    try {
      await work();
    } catch (error) {
      if (await isHeld()) throw error;
    }
    return await isHeld();
  });
}

async function acquireFiles(sessions: SessionStore, owner: LeaseOwner): Promise<void> {
  const givesUpAt = performance.now() + 2 * LEASE_MS;
  while (!(await sessions.acquire(FILES_KEY, owner, LEASE_MS))) {
    if (performance.now() > givesUpAt) throw filesAreBusy();
    await sleep(FILES_POLL_MS);
  }
}

function filesAreBusy(): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    message: "Another process keeps writing the files of sessions.",
    retry: {},
  });
}

const FILES_KEY = "session-files";

const PROJECTIONS_KEY = "projections";

/** The lease on what all processes project together. Its owner keeps it from one run to the next. */
export class KeptProjectionLease implements ProjectionLease {
  readonly #sessions: SessionStore;
  readonly #owner: LeaseOwner;
  #takenAt: number | undefined;

  constructor(sessions: SessionStore, owner: LeaseOwner) {
    this.#sessions = sessions;
    this.#owner = owner;
  }

  get isHeld(): boolean {
    return this.#takenAt !== undefined;
  }

  async take(): Promise<boolean> {
    const now = performance.now();
    if (this.#takenAt !== undefined && now - this.#takenAt < LEASE_MS / 3) return true;
    const isTaken = await this.#sessions.acquire(PROJECTIONS_KEY, this.#owner, LEASE_MS);
    this.#takenAt = isTaken ? now : undefined;
    return isTaken;
  }

  async release(): Promise<void> {
    this.#takenAt = undefined;
    await this.#sessions.release(PROJECTIONS_KEY, this.#owner);
  }
}

/** Runs `work`, renews the lease meanwhile, and releases it, unless `end` has done that. */
async function renewed<T>(
  sessions: SessionStore,
  { key, owner }: HeldLease,
  work: () => Promise<T>,
  end = async () => false,
): Promise<T> {
  // A failed renewal is not fatal: the log refuses an append after one of another owner.
  const renewal = setInterval(() => {
    const again = sessions.renew?.(key, owner, LEASE_MS) ?? sessions.acquire(key, owner, LEASE_MS);
    again.catch(() => {});
  }, LEASE_MS / 3);
  renewal.unref();
  try {
    return await work();
  } finally {
    let isReleased = false;
    try {
      isReleased = await end();
    } finally {
      clearInterval(renewal);
      if (!isReleased) await sessions.release(key, owner);
    }
  }
}
