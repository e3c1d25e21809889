import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { boundedResponses, refuseSlowUploads } from "./listen.ts";

const KILOBYTE = 1024;
const MEGABYTE = 1024 * KILOBYTE;
const BYTES_MAX = 16 * MEGABYTE;
/** Node counts the headers again when they are sent with the first bytes. */
const HEADERS = 64 * KILOBYTE;

test("clients that take nothing hold a bounded number of bytes, and the slowest are cut off", async () => {
  const responses: ServerResponse[] = [];
  const { open } = await serve((response) => void responses.push(response));
  const clients: Socket[] = [];
  for (let at = 0; at < 40; at += 1) {
    clients.push(await open());
    // More than the system's buffers take.
    responses[at]?.write(Buffer.alloc(8 * MEGABYTE));
    const untaken = responses.reduce((sum, { writableLength }) => sum + writableLength, 0);
    expect(untaken).toBeLessThanOrEqual(BYTES_MAX + HEADERS);
  }
  expect(responses[0]?.destroyed).toBe(true);
  expect(responses.at(-1)?.destroyed).toBe(false);
});

test("a client that reads is never cut off, however slow the others are", async () => {
  const responses: ServerResponse[] = [];
  const { open } = await serve((response) => void responses.push(response));
  const quick = await open();
  quick.resume();
  for (let at = 1; at < 20; at += 1) {
    const caughtUp = once(responses[0] as ServerResponse, "drain");
    responses[0]?.write(Buffer.alloc(MEGABYTE));
    await caughtUp;
    await open();
    responses[at]?.write(Buffer.alloc(8 * MEGABYTE));
  }
  expect(responses[0]?.destroyed).toBe(false);
});

test("a large answer that is not taken counts too", async () => {
  const responses: ServerResponse[] = [];
  const { open } = await serve((response) => {
    responses.push(response);
    response.end(Buffer.alloc(8 * MEGABYTE));
  });
  for (let at = 0; at < 20; at += 1) await open();
  const untaken = responses.reduce((sum, { writableLength }) => sum + writableLength, 0);
  expect(untaken).toBeLessThanOrEqual(BYTES_MAX + HEADERS);
});

/** Serves with bounded responses. `open` sends a request and reads nothing. */
async function serve(answer: (response: ServerResponse) => void) {
  let onAnswer = () => {};
  const server = createServer(
    { ServerResponse: boundedResponses(BYTES_MAX), highWaterMark: 16 * KILOBYTE },
    (_, response) => {
      answer(response);
      onAnswer();
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    async open(): Promise<Socket> {
      const answered = new Promise<void>((resolve) => {
        onAnswer = resolve;
      });
      const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
      client.on("error", () => {});
      onTestFinished(() => void client.destroy());
      client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
      await answered;
      return client;
    },
  };
}

/** A server that reads each body, and the answer to a body that comes in pieces. */
async function served(answer: (body: AsyncIterable<Uint8Array>) => Promise<string>) {
  const server = createServer((request, response) => {
    // A body that is refused ends with an error.
    answer(request).then(
      (said) => response.end(said),
      () => {},
    );
  });
  refuseSlowUploads(server, { graceMs: 50, bytesPerSecondMin: 100_000, everyMs: 200 });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    socket.end(`HTTP/1.1 408 Too slow\r\ncontent-length: 4\r\n\r\n${error.code?.slice(-4)}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return async (body: AsyncIterable<Uint8Array>) => {
    const init = { method: "POST", body: ReadableStream.from(body), duplex: "half" };
    const response = await fetch(`http://127.0.0.1:${port}/`, init as unknown as RequestInit);
    return { status: response.status, body: await response.text() };
  };
}

async function* pieces(count: number, bytes: number, everyMs: number) {
  for (let index = 0; index < count; index += 1) {
    yield Buffer.alloc(bytes, "x");
    await sleep(everyMs);
  }
}

const lengthOf = async (body: AsyncIterable<Uint8Array>) => String((await text(body)).length);

test("a body that goes on coming is read to its end, also after the time that a slow one has", async () => {
  const send = await served(lengthOf);
  expect(await send(pieces(80, 50_000, 5))).toEqual({ status: 200, body: "4000000" });
});

test("a body that hardly comes is refused", async () => {
  const send = await served(lengthOf);
  const refused = await send(pieces(100, 1, 20)).catch((error: Error) => error.message);
  // The client may notice that it cannot send before it reads the answer.
  if (typeof refused === "string") expect(refused).toBe("fetch failed");
  else expect(refused).toEqual({ status: 408, body: "EOUT" });
});

test("a body that waits for the server to read it is not slow", async () => {
  const send = await served(async (body) => {
    await sleep(600);
    return await lengthOf(body);
  });
  expect(await send(pieces(4, 1_000_000, 0))).toEqual({ status: 200, body: "4000000" });
});
