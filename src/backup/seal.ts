import { createHmac, timingSafeEqual } from "node:crypto";

/** The seal of a text, an HMAC with a user's own key. Only that user can have written a file that has it. */
export function sealOf(text: string, key: Uint8Array): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

export function isSealed(text: string, seal: unknown, key: Uint8Array | undefined): boolean {
  if (key === undefined || typeof seal !== "string") return false;
  const [own, given] = [Buffer.from(sealOf(text, key)), Buffer.from(seal)];
  return own.length === given.length && timingSafeEqual(own, given);
}
