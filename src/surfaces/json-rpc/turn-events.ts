import { type EventEnvelope, isTransient } from "../../core/event.ts";
import type { SessionService } from "../../core/session-service.ts";

/** What a slow reader may leave waiting; past that, durable events are read from the log again. */
const WAITING_CHARACTERS_MAX = 4 * 1024 * 1024;

interface Waiting {
  readonly seq: number;
  readonly transient: boolean;
  readonly line: string;
}

/** How the events of a turn are told. */
interface Telling {
  readonly service: Pick<SessionService, "subscribe">;
  readonly sessionId: string;
  line(event: EventEnvelope): string;
  /** Says that deltas were left out. */
  lagLine(droppedDeltas: number): string;
  write(line: string): Promise<void>;
}

/**
 * The events of one turn, on their way to a reader that may be slower than the
 * turn. Durable events all arrive, once and in order; deltas do while the
 * reader keeps up, and it is told how many did not.
 */
export class TurnEvents {
  readonly #telling: Telling;
  #waiting: Waiting[] = [];
  #characters = 0;
  #droppedDeltas = 0;
  /** The last durable event that was told, and the last that there is. */
  #told: number | undefined;
  #last = 0;
  #behind = false;
  #pumping: Promise<void> | undefined;

  constructor(telling: Telling) {
    this.#telling = telling;
  }

  readonly push = (event: EventEnvelope): void => {
    this.#told ??= event.seq - 1;
    this.#last = event.seq;
    const line = this.#telling.line(event);
    if (this.#characters + line.length > WAITING_CHARACTERS_MAX && this.#waiting.length > 0) {
      this.#droppedDeltas += this.#waiting.filter(({ transient }) => transient).length;
      this.#waiting = [];
      this.#characters = 0;
      this.#behind = true;
    }
    this.#waiting.push({ seq: event.seq, transient: isTransient(event.payload), line });
    this.#characters += line.length;
    this.#pumping ??= this.#pump();
  };

  /** Resolves when the reader has been told of every event so far. */
  async end(): Promise<void> {
    await this.#pumping;
  }

  async #pump(): Promise<void> {
    while (this.#behind || this.#waiting.length > 0) {
      if (this.#behind) await this.#catchUp();
      const next = this.#waiting.splice(0);
      this.#characters = 0;
      for (const waiting of next) await this.#tell(waiting);
      if (this.#droppedDeltas > 0) {
        const dropped = this.#telling.lagLine(this.#droppedDeltas);
        this.#droppedDeltas = 0;
        await this.#telling.write(dropped);
      }
    }
    this.#pumping = undefined;
  }

  async #tell({ seq, transient, line }: Waiting): Promise<void> {
    const told = this.#told ?? 0;
    if (transient && seq < told) this.#droppedDeltas += 1;
    if (transient ? seq < told : seq <= told) return;
    if (!transient) this.#told = seq;
    await this.#telling.write(line);
  }

  /** Tells of what was dropped, from the log. */
  async #catchUp(): Promise<void> {
    this.#behind = false;
    const { service, sessionId, line } = this.#telling;
    const to = this.#last;
    const afterSeq = this.#told ?? 0;
    if (afterSeq >= to) return;
    try {
      for await (const event of service.subscribe({ sessionId, afterSeq })) {
        const { seq } = event;
        // Deltas come by here too, and wait in their place among the newer events.
        if (isTransient(event.payload)) continue;
        await this.#tell({ seq, transient: false, line: line(event) });
        if (seq >= to) return;
      }
    } catch {
      // The session was deleted meanwhile: there is no event left to tell of.
    }
  }
}
