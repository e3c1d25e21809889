import { createHash } from "node:crypto";
import { SessionError } from "../../core/errors.ts";
import { notValid } from "../http/error-response.ts";
import type { Holder } from "../http/fair-share.ts";

const KEYS_MAX = 10_000;
const BYTES_MAX = 16 * 1024 * 1024;
const DAY_MS = 24 * 60 * 60_000;

type Result = Record<string, unknown>;

interface Kept {
  /** A digest of the request that the key came with first. */
  readonly request: string;
  readonly result: Promise<Result>;
  readonly since: number;
  bytes: number;
  ended: boolean;
}

/**
 * The keys of turns (`Idempotency-Key`), each with what its turn was answered. A request that comes again runs nothing: it gets
 * the answer of the first one, which may still be running. A turn that did not begin keeps no key.
 */
export class TurnKeys {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** @throws SessionError `NOT_POSSIBLE` for a key that came with another request */
  once(
    of: { readonly user: Holder; readonly key: string; readonly request: unknown },
    begin: (begun: () => void) => Promise<Result>,
  ): Promise<Result> {
    if (!/^[\x21-\x7e]{1,255}$/.test(of.key)) {
      throw notValid(400, "Idempotency-Key must be 1 to 255 visible ASCII characters.");
    }
    this.#sweep();
    const name = JSON.stringify([of.user ?? null, of.key]);
    const request = createHash("sha256").update(JSON.stringify(of.request)).digest("hex");
    const known = this.#kept.get(name);
    if (known?.request === request) return known.result;
    if (known) {
      throw new SessionError("NOT_POSSIBLE", {
        message: "This Idempotency-Key came with another request before.",
        hint: "Make a new key for each request, and send it again only with the same one.",
      });
    }
    let hasBegun = false;
    const result = (async () =>
      await begin(() => {
        hasBegun = true;
      }))();
    const kept: Kept = { request, result, since: Date.now(), bytes: 0, ended: false };
    this.#kept.set(name, kept);
    result.then(
      (answer) => this.#end(kept, JSON.stringify(answer).length),
      () => (hasBegun ? this.#end(kept, 0) : this.#kept.delete(name)),
    );
    return result;
  }

  #end(kept: Kept, bytes: number): void {
    kept.ended = true;
    kept.bytes = bytes;
    this.#bytes += bytes;
  }

  /** Forgets old keys, and the oldest ones where there are too many. Those of running turns stay. */
  #sweep(): void {
    const oldest = Date.now() - DAY_MS;
    for (const [name, { ended, bytes, since }] of this.#kept) {
      const isTooMuch = this.#kept.size >= KEYS_MAX || this.#bytes > BYTES_MAX;
      if (since > oldest && !isTooMuch) return;
      if (!ended) continue;
      this.#kept.delete(name);
      this.#bytes -= bytes;
    }
  }
}
