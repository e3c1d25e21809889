import { utf8Bytes } from "../core/tokens.ts";

/** A part with a file in it counts as an image of middling size. */
const FILE_TOKENS = 1_000;
const FILE_BYTES_MIN = 8_000;
const FILE = /"type":"[a-z_-]*(?:file|image|media|audio|video|document|screenshot)/;

/** Estimated tokens of parts of a host's message that rkat does not read: a quarter of the bytes of their JSON. */
export function opaqueTokensOf(parts: readonly unknown[]): number {
  return parts.reduce<number>((sum, part) => sum + tokensOf(part), 0);
}

function tokensOf(part: unknown): number {
  const json = JSON.stringify(part) ?? "";
  const bytes = utf8Bytes(json);
  return bytes >= FILE_BYTES_MIN && FILE.test(json) ? FILE_TOKENS : Math.ceil(bytes / 4);
}
