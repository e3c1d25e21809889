import { familyOf } from "../models/model-family.ts";

/** Providers whose own items no other of them reads. */
const APART: ReadonlySet<string> = new Set(["anthropic", "gemini", "open_ai"]);

/**
 * Whether one provider cannot read what the other made for itself: compactions, encrypted reasoning, results of its own tools.
 * Both have the names of the AI SDK, such as `openai.responses`. A provider that is not known may be any.
 */
export function areApart(maker: string | undefined, reader: string | undefined): boolean {
  if (maker === undefined || reader === undefined) return false;
  const [made, read] = [familyOf(maker).metaProvider, familyOf(reader).metaProvider];
  return APART.has(made) && APART.has(read) && made !== read;
}

/** The reader of each window's last history. */
const readers = new WeakMap<object, string | undefined>();

/** Whether a window gets a history for another reader than the last one, so that items far back may be others. */
export function isOtherReader(window: object, reader: string | undefined): boolean {
  const isOther = readers.has(window) && readers.get(window) !== reader;
  readers.set(window, reader);
  return isOther;
}
