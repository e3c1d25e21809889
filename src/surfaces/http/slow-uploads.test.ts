import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { refuseSlowUploads } from "./listen.ts";

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
