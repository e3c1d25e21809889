import type { SessionSnapshot } from "./session-snapshot.ts";

/**
 * Where sessions stand: small snapshots for listing and resuming, and leases
 * that keep two writers out of one session.
 *
 * Contract:
 * - A saved snapshot is loaded as it was saved.
 * - An older snapshot never replaces a newer one.
 * - Lists come newest first, and filters hold.
 * - A lease excludes everybody else until it is released.
 * - A lease that is not renewed can be taken by another after its time.
 * - Only its owner renews or releases a lease.
 * - A deleted session is neither loaded nor listed.
 */
export interface SessionStore {
  save(snapshot: SessionSnapshot): Promise<void>;
  load(sessionId: string): Promise<SessionSnapshot | undefined>;
  list(query: SessionQuery): Promise<readonly SessionSnapshot[]>;
  delete(sessionId: string): Promise<void>;

  /** Takes or renews the lease on `key` for `ttlMs`; false when someone else has it. */
  acquire(key: string, owner: LeaseOwner, ttlMs: number): Promise<boolean>;
  release(key: string, owner: LeaseOwner): Promise<void>;

  close(): Promise<void>;
}

export interface SessionQuery {
  readonly limit?: number;
  readonly offset?: number;
  /** Sessions that have all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly includeArchived?: boolean;
  /** Sessions whose id begins so. */
  readonly idPrefix?: string;
}

/** Who holds a lease. A store may take a lease from a process of this machine that is gone. */
export interface LeaseOwner {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
}
