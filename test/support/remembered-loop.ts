import type { AdaptedLoop, LoopRecord } from "../../src/testing/adapter-laws.ts";

/** A loop that holds each conversation once: all laws ask for the same ones. */
export function rememberedLoop({ run }: AdaptedLoop): AdaptedLoop {
  const held = new Map<string, Promise<LoopRecord>>();
  return {
    run(script) {
      const key = JSON.stringify(script);
      const record = held.get(key) ?? run(script);
      held.set(key, record);
      return record;
    },
  };
}
