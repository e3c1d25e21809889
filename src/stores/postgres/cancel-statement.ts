import { connect, isIP, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { isUnanswered } from "./postgres-failure.ts";
import type { PostgresClient, PostgresPool, PostgresResult } from "./postgres-pool.ts";
import type { Asked } from "./statements.ts";

/** The server as a connection of `pg` knows it. Other drivers may not have it. */
interface Connected {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
  readonly host?: string;
  readonly port?: number;
  readonly ssl?: boolean | object;
  readonly sslNegotiation?: string;
}

/** The request takes as long as a connection. Nobody waits longer for it. */
const CANCEL_MS = 1000;
/** The connection of a request stays that long: PgBouncer 1.18 crashes when it is closed too early. */
const OPEN_MS = 60_000;

/** Numbers of PostgreSQL's protocol. */
const [CANCEL_REQUEST, SSL_REQUEST] = [80_877_102, 80_877_103];

/**
 * A pool that ends, on the server too, what it gives up: a search whose answer nobody waits for would go on for
 * minutes, and hold back what projections see.
 *
 * A statement that writes is left to end: its commit may wait for a replica, and would then count as done. Pools of
 * other packages give up in their own way.
 */
export function cancelling(pool: PostgresPool): Asked {
  if (!("idleCount" in pool)) return pool;
  return {
    async query(statement): Promise<PostgresResult> {
      const client = await pool.connect();
      // Without a listener, a connection that is lost would end the process.
      const listener = () => {};
      client.on?.("error", listener);
      const release = (error?: unknown) => {
        client.removeListener?.("error", listener);
        client.release(error === undefined ? undefined : true);
      };
      try {
        const result = await client.query(statement);
        release();
        return result;
      } catch (error) {
        // A pooler forgets whom to cancel when the connection is closed.
        if (isUnanswered(error) && !WRITES.test(statement.text)) {
          void cancelStatement(client).finally(() => release(error));
        } else release(error);
        throw error;
      }
    },
  };
}

/** SQL has no data in it, so a word that looks like a command is one. */
const WRITES = /\b(?:insert|update|delete)\b/i;

/** Asks the server to end what this connection waits for, as far as the driver and the network allow. */
export async function cancelStatement(client: PostgresClient): Promise<void> {
  const connected: Connected = client as object;
  const { processID, secretKey, host, port, ssl } = connected;
  if (typeof processID !== "number" || typeof secretKey !== "number" || !host) return;
  const place = host.startsWith("/")
    ? { path: `${host}/.s.PGSQL.${port}` }
    : { host, port: port ?? 5432 };
  const socket = connect(place).unref();
  socket.setTimeout(OPEN_MS, () => socket.destroy());
  socket.on("error", () => {});
  const sent = async () => {
    try {
      const stream = ssl ? await secured(socket, host, connected) : socket;
      stream.on("error", () => {});
      stream.write(request(CANCEL_REQUEST, processID, secretKey));
      // The server answers by closing.
      stream.resume();
      await closed(socket);
    } catch {
      // The statement ends by itself some time.
      socket.destroy();
    }
  };
  await Promise.race([sent(), sleep(CANCEL_MS, undefined, { ref: false })]);
}

/** The same connection with TLS, as the one that waits has it: who reads the key could cancel other statements. */
async function secured(
  socket: Socket,
  host: string,
  { ssl, sslNegotiation }: Pick<Connected, "ssl" | "sslNegotiation">,
): Promise<Socket> {
  const isDirect = sslNegotiation === "direct";
  if (!isDirect) {
    socket.write(request(SSL_REQUEST));
    const [answer] = await next<Buffer>(socket, "data");
    if (answer.toString() !== "S") throw new Error("The server has no TLS.");
  }
  const secure = connectTls({
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ssl === true ? {} : (ssl as object)),
    ...(isDirect ? { ALPNProtocols: ["postgresql"] } : {}),
  });
  await next(secure, "secureConnect");
  return secure;
}

function next<Value>(socket: Socket, event: string): Promise<[Value]> {
  return new Promise((resolve, reject) => {
    socket.once(event, (value: Value) => resolve([value]));
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("The connection was closed.")));
  });
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });
}

/** A message that begins a connection: its length, and then these numbers. */
function request(...numbers: readonly number[]): Buffer {
  const all = [4 * (numbers.length + 1), ...numbers];
  return Buffer.from(Int32Array.from(all).buffer).swap32();
}
