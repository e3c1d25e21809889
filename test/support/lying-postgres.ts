import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { CURRENT_TABLES } from "../../src/stores/postgres/migrations.ts";

type Row = Readonly<Record<string, string | number | boolean | null>>;

/** What the server says to a statement. */
export type Answer =
  | { readonly rows: readonly Row[] }
  | { readonly error: string; readonly code?: string }
  /** Bytes as they are, such as half of an answer. */
  | { readonly bytes: Uint8Array; readonly then?: "cut" | "wait" }
  /** The same row until the client leaves. */
  | { readonly endless: Row };

export interface Lies {
  /** What it answers to a statement; `undefined` for what a server with empty tables says. */
  readonly answer?: (sql: string, values: readonly (string | null)[]) => Answer | undefined;
  /** Instead of letting the client in: asks for the password in clear text, fails, or says nothing. */
  readonly login?:
    | "cleartext"
    | "md5"
    | "silent"
    | { readonly error: string; readonly code?: string };
}

export interface LyingPostgres {
  readonly port: number;
  /** Everything that clients have sent. */
  readonly heard: () => string;
  /** Bytes that were sent to clients. */
  readonly told: () => number;
}

/** A server that speaks PostgreSQL's protocol, and answers what a test wants. It has no TLS. */
export async function lyingPostgres({ answer, login }: Lies = {}): Promise<LyingPostgres> {
  let heard = "";
  let told = 0;
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.setNoDelay());
    socket.on("error", () => {}).on("close", () => open.delete(socket));
    let goOn = () => {};
    socket.on("drain", () => goOn()).on("close", () => goOn());
    const tell = (bytes: Uint8Array) => {
      told += bytes.length;
      return socket.write(bytes);
    };
    const statements = new Map<string, string>();
    let [sql, values]: [string, readonly (string | null)[]] = ["", []];
    const say = async (given: Answer, isParsed: boolean) => {
      const ready = message("Z", Buffer.from("I"));
      const parsed = isParsed ? [message("1"), message("2")] : [];
      if ("rows" in given) return tell(Buffer.concat([...parsed, ...rowsOf(given.rows), ready]));
      if ("error" in given) return tell(Buffer.concat([...parsed, errorOf(given), ready]));
      if ("bytes" in given) {
        tell(given.bytes);
        if (given.then !== "wait") socket.end();
        return;
      }
      tell(Buffer.concat([...parsed, ...rowsOf([given.endless]).slice(0, 1)]));
      const many = Buffer.concat(Array(100).fill(rowsOf([given.endless])[1]));
      while (!socket.destroyed) {
        if (!tell(many)) await new Promise<void>((resolve) => (goOn = resolve));
      }
    };
    const reply = (isParsed: boolean) =>
      void say(answer?.(sql, values) ?? empty(sql), isParsed).catch(() => {});
    let [isIn, rest] = [false, Buffer.alloc(0)];
    socket.on("data", (chunk) => {
      heard += chunk.toString("latin1");
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const start = isIn ? 1 : 0;
        if (rest.length < start + 4 || rest.length < start + rest.readUInt32BE(start)) return;
        const [type, size] = [
          isIn ? String.fromCharCode(rest[0] ?? 0) : "",
          rest.readUInt32BE(start),
        ];
        const body = rest.subarray(start + 4, start + size);
        rest = rest.subarray(start + size);
        if (!isIn && body.readUInt32BE(0) === SSL_REQUEST) tell(Buffer.from("N"));
        else if (!isIn) {
          isIn = true;
          if (login === "cleartext") tell(message("R", int32(3)));
          else if (login === "md5") tell(message("R", Buffer.concat([int32(5), int32(7)])));
          else if (login === undefined) tell(LET_IN);
          else if (login !== "silent") tell(errorOf(login));
        } else if (type === "p") tell(LET_IN);
        else if (type === "Q") {
          [sql, values] = [textAt(body, 0), []];
          reply(false);
        } else if (type === "P") {
          const name = textAt(body, 0);
          statements.set(name, textAt(body, Buffer.byteLength(name) + 1));
          sql = statements.get(name) ?? "";
        } else if (type === "B") {
          const portal = Buffer.byteLength(textAt(body, 0)) + 1;
          sql = statements.get(textAt(body, portal)) ?? sql;
          values = boundValues(body.subarray(portal + Buffer.byteLength(textAt(body, portal)) + 1));
        } else if (type === "S") reply(true);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { port, heard: () => heard, told: () => told };
}

const SSL_REQUEST = 80877103;
const LET_IN = Buffer.concat([message("R", int32(0)), message("Z", Buffer.from("I"))]);

/** The tables are there, and nothing is in them. */
function empty(sql: string): Answer {
  if (sql.includes("max(usable_from)")) {
    return { rows: [{ version: CURRENT_TABLES, usable: CURRENT_TABLES, isFollowed: true }] };
  }
  if (sql.includes("pg_current_xact_id")) return { rows: [{ number: "7" }] };
  return { rows: [] };
}

function message(type: string, body: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

/** The description of the columns, the rows, and the end. */
function rowsOf(rows: readonly Row[]): readonly Buffer[] {
  const columns = Object.entries(rows[0] ?? {}).map(([name, value]) =>
    Buffer.concat([
      Buffer.from(`${name}\0`),
      int32(0),
      int16(0),
      int32(typeOf(value)),
      int16(-1),
      int32(-1),
      int16(0),
    ]),
  );
  const head = message("T", Buffer.concat([int16(columns.length), ...columns]));
  const data = rows.map((row) => {
    const cells = Object.values(row).map((value) => {
      const text = Buffer.from(value === true ? "t" : value === false ? "f" : String(value));
      return value === null ? int32(-1) : Buffer.concat([int32(text.length), text]);
    });
    return message("D", Buffer.concat([int16(cells.length), ...cells]));
  });
  return [head, ...data, message("C", Buffer.from(`SELECT ${rows.length}\0`))];
}

/** As PostgreSQL numbers its types: text, bool, int8. */
function typeOf(value: Row[string]): number {
  return typeof value === "boolean" ? 16 : typeof value === "number" ? 20 : 25;
}

function errorOf({ error, code = "XX000" }: { readonly error: string; readonly code?: string }) {
  return message("E", Buffer.from(`SERROR\0VERROR\0C${code}\0M${error}\0\0`));
}

function boundValues(body: Buffer): readonly (string | null)[] {
  let at = 2 + 2 * body.readInt16BE(0);
  const values: (string | null)[] = [];
  const count = body.readInt16BE(at);
  at += 2;
  for (; values.length < count; ) {
    const size = body.readInt32BE(at);
    at += 4;
    values.push(size < 0 ? null : body.toString("utf8", at, at + size));
    at += Math.max(0, size);
  }
  return values;
}

function textAt(body: Buffer, start: number): string {
  return body.toString("utf8", start, body.indexOf(0, start));
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}
