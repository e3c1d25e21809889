import assert from "node:assert/strict";
import { SessionError } from "../core/errors.ts";
import { parseRequest } from "../core/operations/parse-request.ts";
import { userRequest } from "../core/operations/sessions.ts";
import type { SessionService } from "../core/session-service.ts";
import { Retention } from "../forgetting/retention.ts";
import type { ProjectionRunner } from "../projections/projection-runner.ts";
import type { ServiceCore } from "./service-core.ts";

/** How often a service looks for what is older than the settings allow. */
const CLEAN_UP_MS = 3_600_000;

interface Deps {
  /** Deletes a session for good. */
  readonly remove: (sessionId: string) => Promise<void>;
  /** Ends the imports that run. */
  readonly endImports: () => Promise<void>;
  /** Opens the service of a user. */
  readonly openFor: (user: string) => ServiceLife;
}

/** The life of a service besides its operations: it finds the services of users, deletes what is old, and ends. */
export class ServiceLife {
  readonly #core: ServiceCore;
  readonly #deps: Deps;
  readonly #retention: Retention;
  readonly #cleaning: NodeJS.Timeout | undefined;
  /** The services of users that are in use: a caller has one, or a turn runs in it. */
  readonly #users = new Map<string, WeakRef<ServiceLife>>();
  readonly #unused = new FinalizationRegistry<string>((user) => {
    if (!this.#users.get(user)?.deref()) this.#users.delete(user);
  });
  /** The projections of users. One may still work when nothing holds the user's service any more. */
  readonly #following = new Set<WeakRef<ProjectionRunner>>();
  readonly #idle = new FinalizationRegistry<WeakRef<ProjectionRunner>>((runner) => {
    this.#following.delete(runner);
  });
  #closing: Promise<void> | undefined;

  constructor(core: ServiceCore, deps: Deps) {
    this.#core = core;
    this.#deps = deps;
    const { options, outages, work, live, user } = core;
    const { events, sessions } = options.stores;
    this.#retention = new Retention(options.keepDays ?? {}, {
      events,
      sessions,
      delete: deps.remove,
      withSession: (id, empty) =>
        work.alone(id, async () => await empty((await live.open(id)).state)),
    });
    if (user !== undefined) return;
    this.#cleaning = hourly(this, (life) =>
      outages.attempt(life.#retention, () => life.#cleanUpAll()),
    );
  }

  forUser(name: string): SessionService {
    const { user } = parseRequest(userRequest, { user: name });
    if (this.#core.user !== undefined) {
      if (this.#core.user === user) return this.#service;
      throw new SessionError("USER_NOT_ALLOWED");
    }
    if (this.#closing) throw new SessionError("AGENT_ERROR", { detail: "The service is closed." });
    const known = this.#users.get(user)?.deref();
    if (known && !known.#closing) return known.#service;
    const life = this.#openFor(user);
    this.#users.set(user, new WeakRef(life));
    this.#unused.register(life, user);
    return life.#service;
  }

  /** Interrupts running turns and brings the projections up to date. The stores stay open: they are the caller's. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  get #service(): SessionService {
    assert(this.#core.service);
    return this.#core.service;
  }

  async #end(): Promise<void> {
    const { work, outages, projections } = this.#core;
    await Promise.all([...this.#users.values()].map((life) => life.deref()?.close()));
    await Promise.all([...this.#following].map((runner) => runner.deref()?.close()));
    await this.#deps.endImports();
    await work.close();
    clearInterval(this.#cleaning);
    // A file that stays for lack of a store is deleted by the next service that closes.
    await outages.attempt(this.#retention, () => this.#cleanUp());
    await projections.close();
  }

  #openFor(user: string): ServiceLife {
    const life = this.#deps.openFor(user);
    const { projections } = life.#core;
    const runner = new WeakRef(projections);
    this.#following.add(runner);
    this.#idle.register(projections, runner);
    return life;
  }

  /** Deletes what is older than the settings allow. */
  async #cleanUp(): Promise<void> {
    await this.#core.trash?.deleteOld();
    await this.#retention.deleteOld();
    this.#core.projections.wake();
  }

  /** The same for all users who have something old, also for those that no service is open for. */
  async #cleanUpAll(): Promise<void> {
    await this.#cleanUp();
    const { trash, options } = this.#core;
    const { stores } = options;
    const limits = { ...trash?.limits, ...this.#retention.limits };
    const users = stores.usersWithOld ? stores.usersWithOld(limits) : stores.users?.();
    for (const name of (await users) ?? []) {
      const life = this.#users.get(name)?.deref() ?? this.#openFor(name);
      await life.#cleanUp();
      await life.#core.projected();
    }
  }
}

/** A timer that keeps neither the process nor the service alive. */
function hourly(life: ServiceLife, work: (life: ServiceLife) => Promise<unknown>): NodeJS.Timeout {
  const known = new WeakRef(life);
  const timer = setInterval(() => {
    const alive = known.deref();
    if (alive) void work(alive);
    else clearInterval(timer);
  }, CLEAN_UP_MS);
  return timer.unref();
}
