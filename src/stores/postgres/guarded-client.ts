import type { Socket } from "node:net";
import { errorText, SessionError } from "../../core/errors.ts";

/** What rkat uses of the classes of `pg`. */
interface PgClient {
  /** Missing in the client that is made of libpq. */
  readonly connection?: PgConnection;
  connect(done: (error?: Error) => void): unknown;
}
interface PgConnection {
  readonly stream: Socket;
  attachListeners(stream: Pick<Socket, "on">): void;
}
type PgClientClass = new (options: object) => PgClient;

/** Bytes of one answer. Statements read in pages, so answers are much smaller. */
const ANSWER_BYTES_MAX = 256_000_000;

/**
 * The client of `pg`, for a server that may answer wrongly. It ends the connection, and the statement fails, when
 *
 * - an answer is so large that the process would run out of memory,
 * - a message makes `pg` throw, which would end the process, or loop without an end,
 * - the server refuses the login and keeps the connection open, which would keep the process from ending.
 */
export function guardedClient(Client: PgClientClass, bytesMax = ANSWER_BYTES_MAX): PgClientClass {
  return class extends Client {
    constructor(options: object) {
      super(options);
      const { connection } = this;
      if (!connection) return;
      const attach = connection.attachListeners.bind(connection);
      connection.attachListeners = (stream) => attach(guarded(stream as Socket, bytesMax));
    }

    override connect(done: (error?: Error) => void): unknown {
      return super.connect((error) => {
        if (error) this.connection?.stream.destroy();
        done(error);
      });
    }
  };
}

/** The stream, whose bytes are checked before a listener gets them. */
function guarded(stream: Socket, bytesMax: number): Pick<Socket, "on"> {
  const answers = new AnswerGuard(bytesMax);
  const checked = (listener: (bytes: Buffer) => void) => (bytes: Buffer) => {
    if (stream.destroyed) return;
    try {
      answers.check(bytes);
      listener(bytes);
    } catch (error) {
      stream.destroy(SessionError.is(error) ? error : wrongAnswer(errorText(error)));
    }
  };
  return {
    on: (event: string, listener: (bytes: Buffer) => void) =>
      stream.on(event, event === "data" ? checked(listener) : listener),
  } as Pick<Socket, "on">;
}

const HEAD_BYTES = 5;
/** A row as JavaScript keeps it takes more than its bytes. */
const ROW_BYTES = 200;

const [ERROR, NOTICE, ROW, READY] = ["E", "N", "D", "Z"].map((type) => type.charCodeAt(0));

/** Reads the heads of messages: a byte for the type, and four for the length of the rest with themselves. */
class AnswerGuard {
  readonly #bytesMax: number;
  /** Bytes of the answer so far. */
  #answer = 0;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  /** Bytes of the message that have not come yet. */
  #left = 0;
  /** The last two bytes of the message. */
  #end: readonly [number, number] = [0, 0];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @throws SessionError `SESSION_STORE_ERROR` */
  check(bytes: Buffer): void {
    this.#answer += bytes.length;
    for (let at = 0; at < bytes.length; ) {
      if (this.#left === 0) {
        this.#head[this.#headBytes] = bytes[at] as number;
        this.#headBytes += 1;
        at += 1;
        if (this.#headBytes === HEAD_BYTES) this.#begin();
      } else {
        const end = Math.min(bytes.length, at + this.#left);
        this.#end = [
          end - at > 1 ? (bytes[end - 2] as number) : this.#end[1],
          bytes[end - 1] as number,
        ];
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#finish();
      }
      if (this.#answer > this.#bytesMax) throw tooLarge(this.#bytesMax);
    }
  }

  #begin(): void {
    const length = this.#head.readInt32BE(1);
    if (length < 4) throw wrongAnswer(`a message of ${length} bytes`);
    if (length > this.#bytesMax) throw tooLarge(this.#bytesMax);
    this.#left = length - 4;
    this.#end = [0, 0];
    if (this.#left === 0) this.#finish();
  }

  #finish(): void {
    const [type] = this.#head;
    this.#headBytes = 0;
    if (type === ROW) this.#answer += ROW_BYTES;
    if (type === READY) this.#answer = 0;
    // `pg` looks for the end of an error for ever.
    if ((type === ERROR || type === NOTICE) && this.#end.some((byte) => byte !== 0)) {
      throw wrongAnswer("an error without an end");
    }
  }
}

function tooLarge(bytesMax: number): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `The PostgreSQL server sent an answer of more than ${bytesMax / 1_000_000} MB.`,
    hint: "It is no answer to what rkat asks for. Check that the address is that of your server.",
  });
}

function wrongAnswer(what: string): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `The server does not speak PostgreSQL's protocol (${what}).`,
    hint: "Check that the address is that of your PostgreSQL server.",
  });
}
