import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished, test } from "vitest";
import type { Law } from "../../src/testing/law.ts";

/** Each law gets a fresh `place`; opening twice in one place finds the same data, if anything does. */
export interface Subject<T> {
  readonly name: string;
  readonly durable: boolean;
  open(place: string): Promise<T>;
}

/** Runs every law against every subject. */
export function obey<T>(laws: readonly Law<T>[], subjects: readonly Subject<T>[]): void {
  for (const { name, durable, open } of subjects) {
    describe(name, () => {
      for (const law of laws) {
        test.skipIf(law.durable && !durable)(law.name, async () => {
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
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
