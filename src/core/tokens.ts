import type { Message } from "./message.ts";

const encoder = new TextEncoder();

/** UTF-8 bytes of a value's JSON. */
export function jsonBytes(value: unknown): number {
  return utf8Bytes(JSON.stringify(value) ?? "");
}

/** UTF-8 bytes of a text, which for anything but ASCII is more than its length. */
export function utf8Bytes(text: string): number {
  return text.length < 64 && isAscii(text) ? text.length : encoder.encode(text).length;
}

/**
 * Estimated tokens of messages whose JSON takes `bytes` in all: the bytes of
 * the JSON array / 4, as the specification counts them. The array itself adds
 * its brackets and commas.
 */
export function estimateFromBytes(bytes: number, messageCount: number): number {
  return Math.floor((bytes + messageCount + 1) / 4);
}

/** Estimated tokens of a history. Histories that grow keep a running sum of bytes instead. */
export function estimateTokens(messages: readonly Message[]): number {
  const bytes = messages.reduce((sum, message) => sum + jsonBytes(message), 0);
  return estimateFromBytes(bytes, messages.length);
}

/** The longest start of `text` that fits `bytesMax` UTF-8 bytes and cuts no character in two. */
export function headWithin(text: string, bytesMax: number): string {
  let end = Math.max(0, bytesMax);
  // No unit of a text takes less than a byte, so what comes later cannot fit.
  const bytes = encoder.encode(text.slice(0, end + 1));
  if (bytes.length <= bytesMax) return text;
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return decoder.decode(bytes.subarray(0, end));
}

/** The longest end of `text` that fits `bytesMax` UTF-8 bytes and cuts no character in two. */
export function tailWithin(text: string, bytesMax: number): string {
  const bytes = encoder.encode(text.slice(-Math.max(0, bytesMax) - 1));
  if (bytes.length <= bytesMax) return text;
  let start = bytes.length - Math.max(0, bytesMax);
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return decoder.decode(bytes.subarray(start));
}

// A byte order mark that starts a piece is text of the user's, not a mark to swallow.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) > 127) return false;
  }
  return true;
}
