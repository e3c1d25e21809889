import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** `RKAT_SEED` and `RKAT_PATH`. */
    readonly seed?: string | undefined;
    readonly path?: string | undefined;
  }
}

/** The inputs of random tests that you chose: `RKAT_SEED`, and `RKAT_PATH`, which a failed property prints. */
export const GIVEN_SEED = numberOf(inject("seed"));
export const GIVEN_PATH = inject("path");

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
