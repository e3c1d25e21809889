import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished, test } from "vitest";
import type { Law } from "../../src/testing/law.ts";
import { type Part, sampled } from "./trials.ts";

/** Each law gets a fresh `place`; opening twice in one place finds the same data, if anything does. */
export interface Subject<T> {
  readonly name: string;
  readonly durable: boolean;
  /** Laws that cannot hold for it, each with the reason. */
  readonly cannot?: Readonly<Record<string, string>>;
  /** Which laws it keeps in the short form, if another subject with almost its code keeps all. */
  readonly part?: Part;
  open(place: string): Promise<T>;
}

/** The reason for skipping a law that needs a disk. */
export const NOT_DURABLE = { meta: { skipReason: "is about what outlives a store in memory" } };

/** Runs every law against every subject, or a part of them. */
export function obey<T>(laws: readonly Law<T>[], subjects: readonly Subject<T>[]): void {
  for (const { name, durable, cannot = {}, part, open } of subjects) {
    describe(name, () => {
      for (const law of Object.keys(cannot)) {
        if (!laws.some(({ name }) => name === law)) throw new Error(`There is no law "${law}".`);
      }
      for (const law of part ? sampled(laws, part) : laws) {
        const reason = cannot[law.name];
        if (reason !== undefined) {
          test.skip(`${law.name} (cannot: ${reason})`);
          continue;
        }
        test.skipIf(law.durable && !durable)(law.name, NOT_DURABLE, async () => {
          const place = await temporaryFolder();
          await law.holds(() => open(place));
        });
      }
    });
  }
}

/** A folder that goes when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "rkat-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
