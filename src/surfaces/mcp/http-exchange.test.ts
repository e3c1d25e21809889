import { expect, test } from "vitest";
import { HttpExchange } from "./http-exchange.ts";

const NEVER = new AbortController().signal;

/** Serves a stream of `count` chunks by a sender that waits for room; `sent` says how many it has sent. */
async function stream(
  count: number,
  progress: { sent: number },
  onEnd: () => void,
  signal: AbortSignal = NEVER,
) {
  return await HttpExchange.serve({} as never, async () => {
    HttpExchange.atEnd(onEnd);
    const { readable, writable } = new TransformStream<Uint8Array>(
      {},
      { highWaterMark: Number.POSITIVE_INFINITY },
      { highWaterMark: Number.POSITIVE_INFINITY },
    );
    const writer = writable.getWriter();
    void (async () => {
      for (; progress.sent < count; progress.sent += 1) {
        await HttpExchange.send(async () => {
          writer.write(new Uint8Array([progress.sent % 256])).catch(() => {});
        }, signal);
      }
      await writer.close().catch(() => {});
    })();
    return new Response(readable);
  });
}

test("who streams waits for a reader that does not read, and loses nothing", async () => {
  const progress = { sent: 0 };
  let ended = 0;
  const response = await stream(1000, progress, () => {
    ended += 1;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(progress.sent).toBeLessThan(3);
  expect(ended).toBe(0);
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(bytes.length).toBe(1000);
  expect(bytes.every((byte, index) => byte === index % 256)).toBe(true);
  expect(ended).toBe(1);
});

test("a reader that leaves holds nobody back", async () => {
  const progress = { sent: 0 };
  let ended = 0;
  const response = await stream(1000, progress, () => {
    ended += 1;
  });
  await response.body?.cancel();
  await expect.poll(() => progress.sent).toBe(1000);
  expect(ended).toBe(1);
});

test("a call that is given up does not wait for a reader that reads nothing", async () => {
  const progress = { sent: 0 };
  const call = new AbortController();
  await stream(1000, progress, () => {}, call.signal);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(progress.sent).toBeLessThan(3);
  call.abort();
  await expect.poll(() => progress.sent).toBe(1000);
});

test("several calls of one request wait for their turn, and all go on", async () => {
  const sent: number[] = [];
  const response = await HttpExchange.serve({} as never, async () => {
    const { readable, writable } = new TransformStream<Uint8Array>(
      {},
      { highWaterMark: Number.POSITIVE_INFINITY },
      { highWaterMark: Number.POSITIVE_INFINITY },
    );
    const writer = writable.getWriter();
    const call = async (_: unknown, id: number) => {
      for (let count = 0; count < 100; count += 1) {
        await HttpExchange.send(async () => {
          writer.write(Uint8Array.of(id)).catch(() => {});
          sent.push(id);
        }, NEVER);
      }
    };
    void Promise.all(Array.from({ length: 3 }, call)).then(() => writer.close());
    return new Response(readable);
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(sent.length).toBeLessThan(3);
  expect(new Uint8Array(await response.arrayBuffer()).length).toBe(300);
});
