import { relative } from "node:path";
import type { SerializedError, TestModule, TestSuite, Vitest } from "vitest/node";
import { repeatCommand } from "./repeat-command.ts";
import type { Failure, FailureError } from "./run-report.ts";

/** What failed in a run, each with the command that repeats it. */
export function runFailures(
  vitest: Vitest,
  modules: readonly TestModule[],
  errors: readonly SerializedError[],
): Failure[] {
  const failures = new RunFailures(vitest);
  return [
    ...modules.flatMap((module) => failures.ofFile(module)),
    ...errors.map((error) => failures.outside(error)),
  ];
}

/** The seed of the order of tests, when it is random. */
export function orderSeed({ config: { sequence } }: Vitest): number | undefined {
  return sequence.shuffle ? sequence.seed : undefined;
}

class RunFailures {
  readonly #vitest: Vitest;

  constructor(vitest: Vitest) {
    this.#vitest = vitest;
  }

  /** What failed in a file: tests, and what is around them. */
  ofFile(module: TestModule): Failure[] {
    const file = module.relativeModuleId;
    const around: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
    const failures = around.flatMap((suite) => {
      const title = suite === module ? file : `${file} > ${(suite as TestSuite).fullName}`;
      return suite.errors().length > 0 ? [this.#failure(file, title, suite.errors())] : [];
    });
    // Vitest matches `-t` with the names joined as `fullName` has them.
    const tests = [...module.children.allTests("failed")].map((test) => {
      const { errors = [] } = test.result();
      return this.#failure(file, `${file} > ${test.fullName}`, errors, test.fullName);
    });
    return [...failures, ...tests];
  }

  #failure(
    file: string,
    title: string,
    errors: readonly SerializedError[],
    test?: string,
  ): Failure {
    const config = this.#config();
    const seed = orderSeed(this.#vitest);
    const command = repeatCommand({
      file,
      ...(test === undefined ? {} : { test }),
      message: errors.map(({ message }) => message).join("\n"),
      ...(seed === undefined ? {} : { orderSeed: seed }),
      ...(config === undefined ? {} : { config }),
      isLong: this.#vitest.vite.config.mode === "long",
    });
    return { title, errors: errors.map((error) => this.#error(error)), command };
  }

  /** A rejection that no test waited for, for example. */
  outside(error: SerializedError): Failure {
    const { VITEST_TEST_PATH: path, VITEST_TEST_NAME: test, type = "Error" } = error;
    const file = typeof path === "string" ? this.#path(path) : ".";
    const during = typeof test === "string" ? ` (the last test was "${test}")` : "";
    return this.#failure(file, `${type} outside of any test, in ${file}${during}`, [error]);
  }

  #error({ name, message, diff, stacks = [], cause }: SerializedError): FailureError {
    const places = stacks
      .filter(({ file }) => !file.includes("/node_modules/"))
      .map(({ file, line, column }) => `${this.#path(file)}:${line}:${column}`);
    return {
      ...(name === undefined ? {} : { name }),
      message: String(message),
      ...(typeof diff === "string" ? { diff } : {}),
      places,
      ...(cause ? { cause: this.#error(cause) } : {}),
    };
  }

  #path(path: string): string {
    return relative(this.#vitest.config.root, path.replace(/^file:\/\//, ""));
  }

  #config(): string | undefined {
    const path = this.#path(this.#vitest.vite.config.configFile || "vitest.config.ts");
    return path === "vitest.config.ts" ? undefined : path;
  }
}
