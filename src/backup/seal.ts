import { createHmac, timingSafeEqual } from "node:crypto";

/** What a user's own key makes of a text: a file that has it was written by that user. */
export function sealOf(text: string, key: Uint8Array): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

export function isSealed(text: string, seal: unknown, key: Uint8Array | undefined): boolean {
  if (key === undefined || typeof seal !== "string") return false;
  const [own, given] = [Buffer.from(sealOf(text, key)), Buffer.from(seal)];
  return own.length === given.length && timingSafeEqual(own, given);
}
