import { isNeededBySystem } from "./system-environment.ts";

/** What the tests' own process keeps besides: the switches of the tests, listed in CONTRIBUTING.md, and Vitest's own. */
const KEPT = [
  "BUILT_FOR_TESTS",
  "CI",
  "REQUIRE_PGBOUNCER",
  "REQUIRE_POSTGRES",
  "RKAT_CROWD",
  "RKAT_FAILURES_FILE",
  "RKAT_FUZZ_SEED",
  "RKAT_INPUTS",
  "RKAT_MINUTES",
  "RKAT_PASSED_FILES",
  "RKAT_PATH",
  "RKAT_POINTS",
  "RKAT_SEED",
  "RKAT_TEST_DISK",
  "RKAT_TEST_INSPECTOR",
  "RKAT_TEST_PGBOUNCER",
  "RKAT_TEST_POSTGRES",
  "RKAT_TEST_POSTGRES_PROGRAMS",
  "BASE_URL",
  "DEV",
  "FORCE_TTY",
  "MODE",
  "NODE_ENV",
  "PROD",
  "SSR",
  "TEST",
  "VITEST",
];

/** Takes from this process what a contributor has set for other programs. */
export function cleanEnvironment(): void {
  for (const name of Object.keys(process.env)) if (!isKept(name)) delete process.env[name];
}

export function isKept(name: string): boolean {
  return isNeededBySystem(name) || KEPT.includes(name) || /^(?:VITEST|TINYPOOL)_/.test(name);
}

/** The switches of the tests that this process was given, for a run of them that it starts. */
export function givenSwitches(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isKept(name)));
}

// Loaded by each worker before its tests.
cleanEnvironment();
