import type { Capability } from "../core/capabilities.ts";
import { SessionError } from "../core/errors.ts";
import type { EventEnvelope } from "../core/event.ts";
import type { HistoryHit } from "../core/event-store.ts";
import type { MemoryHit } from "../core/memory-store.ts";
import type * as requests from "../core/requests.ts";
import type {
  CompactionOutcome,
  SessionCreated,
  SessionService,
  SessionSummary,
  SessionView,
  SubscribeOptions,
  TurnOptions,
  TurnResult,
} from "../core/session-service.ts";

/**
 * Sessions that live as long as the process: turns work, lookups do not.
 *
 * It is a persistent service over stores that persist nothing, less the
 * operations that would pretend otherwise.
 */
export class EphemeralSessionService implements SessionService {
  readonly #sessions: SessionService;

  constructor(sessions: SessionService) {
    this.#sessions = sessions;
  }

  createSession(request: requests.CreateSession): Promise<SessionCreated> {
    return this.#sessions.createSession(request);
  }

  startTurn(request: requests.StartTurn, options?: TurnOptions): Promise<TurnResult> {
    return this.#sessions.startTurn(request, options);
  }

  interrupt(request: requests.SessionRequest): Promise<void> {
    return this.#sessions.interrupt(request);
  }

  compact(request: requests.CompactSession, options?: TurnOptions): Promise<CompactionOutcome> {
    return this.#sessions.compact(request, options);
  }

  subscribe(request: requests.Subscribe, options?: SubscribeOptions): AsyncIterable<EventEnvelope> {
    return this.#sessions.subscribe(request, options);
  }

  searchMemory(request: requests.SearchMemory): Promise<readonly MemoryHit[]> {
    return this.#sessions.searchMemory(request);
  }

  async capabilities(): Promise<readonly Capability[]> {
    const all = await this.#sessions.capabilities();
    return all.filter((capability) => capability !== "session-store");
  }

  close(): Promise<void> {
    return this.#sessions.close();
  }

  resume(): Promise<TurnResult> {
    return disabled();
  }

  read(): Promise<SessionView> {
    return disabled();
  }

  list(): Promise<readonly SessionSummary[]> {
    return disabled();
  }

  archive(): Promise<void> {
    return disabled();
  }

  delete(): Promise<void> {
    return disabled();
  }

  searchHistory(): Promise<readonly HistoryHit[]> {
    return disabled();
  }
}

async function disabled(): Promise<never> {
  throw new SessionError("SESSION_PERSISTENCE_DISABLED");
}
