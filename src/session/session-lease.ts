import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { SessionError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import type { LeaseOwner, SessionStore } from "../core/session-store.ts";

/** How long a lease lasts that is not renewed: what a killed process leaves on another machine. */
const LEASE_MS = 15_000;

/** This process, as the owner of leases. Two services in one process are two owners. */
export function newOwner(): LeaseOwner {
  return { id: newId(), host: `${hostname()} ${processSpace()}`, pid: process.pid };
}

/**
 * Which processes a process id of ours can be told from: containers that share
 * a volume, and a host name, do not share processes.
 */
function processSpace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // Not Linux: every process of the host is in one space.
    return "";
  }
}

/**
 * Runs `work` while nobody else, in no process, works on the session.
 *
 * @throws SessionError `SESSION_BUSY` when somebody does.
 */
export async function withLease<T>(
  sessions: SessionStore,
  sessionId: string,
  owner: LeaseOwner,
  work: () => Promise<T>,
): Promise<T> {
  const key = `session:${sessionId}`;
  if (!(await sessions.acquire(key, owner, LEASE_MS))) {
    throw new SessionError("SESSION_BUSY", {
      message: "Another process is running a turn in this session.",
    });
  }
  // A renewal that fails is not fatal: the log refuses an append that somebody else got ahead of.
  const renewal = setInterval(() => {
    sessions.acquire(key, owner, LEASE_MS).catch(() => {});
  }, LEASE_MS / 3);
  renewal.unref();
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await sessions.release(key, owner);
  }
}
