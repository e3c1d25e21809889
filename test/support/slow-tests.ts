import type { Reporter, TestModule } from "vitest/node";
import { renderTimes, type TimeRow } from "./time-table.ts";

/** Prints where the time of a run went: `npm run test:slow`. */
export default class SlowTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.flatMap((module): TimeRow[] => {
      const { spent } = module.meta();
      return spent ? [{ name: module.relativeModuleId, spent }] : [];
    });
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test): TimeRow[] => {
        const { spent } = test.meta();
        return spent ? [{ name: `${module.relativeModuleId} > ${test.fullName}`, spent }] : [];
      }),
    );
    for (const line of renderTimes(files, tests)) process.stdout.write(`${line}\n`);
  }
}
