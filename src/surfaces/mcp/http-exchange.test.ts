import { expect, test } from "vitest";
import { HttpExchange } from "./http-exchange.ts";

/** Serves a stream of `count` chunks by a sender that waits for room; `sent` says how many it has sent. */
async function stream(count: number, progress: { sent: number }, onEnd: () => void) {
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
        writer.write(new Uint8Array([progress.sent % 256])).catch(() => {});
        await HttpExchange.room();
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
  expect(progress.sent).toBeLessThan(100);
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
