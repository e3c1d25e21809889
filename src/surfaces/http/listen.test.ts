import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { boundedResponses } from "./listen.ts";

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
