import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { IMPORTS_BUILT_PACKAGE } from "../../test/support/built-package.ts";
import { temporaryFolder } from "../../test/support/obey.ts";
import { spawn } from "../../test/support/start-process.ts";
import { IN_LONG_FORM, LONG } from "../../test/support/trials.ts";

const NEEDS_PROC = { meta: { skipReason: "only Linux tells what another process has" } };

// In the short form, trend.test.ts holds what is flat.
test.skipIf(process.platform !== "linux" || !LONG)(
  "a soak of seconds says of each thing whether it is flat, and leaves its plot and nothing else",
  LONG ? NEEDS_PROC : IN_LONG_FORM,
  async () => {
    const temporary = await temporaryFolder();
    const file = join(await temporaryFolder(), "soak.svg");
    const options = ["--minutes", "0.05", "--sessions", "4", "--rate", "60", "--plot", file];
    const program = [...IMPORTS_BUILT_PACKAGE, "bench/soak/run.ts", ...options];
    const child = spawn(process.execPath, program, {
      env: { TMPDIR: temporary },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGTERM"));
    const said = Promise.all([text(child.stdout), text(child.stderr)]);
    await once(child, "close");
    const [stdout, stderr] = await said;
    expect(stderr).toBe("Stopping.\n");
    expect(stdout).toMatch(/^\{"minutes":0.05,"sessions":4,"seed":1,"counts":\{.*"turn":\d+/m);
    for (const name of ["memory of the server", "open descriptors", "the store", "a turn"]) {
      expect(stdout).toMatch(new RegExp(`^${name}: [\\d.]+ .* %, (?:flat|NOT FLAT)$`, "m"));
    }
    expect(readFileSync(file, "utf8").match(/<polyline/g)).toHaveLength(12);
    expect(readdirSync(temporary)).toEqual([]);
  },
);

test.skipIf(process.platform !== "linux" || !LONG)(
  "a soak that is told to end leaves no server and no files",
  LONG ? NEEDS_PROC : IN_LONG_FORM,
  async () => {
    const temporary = await temporaryFolder();
    const options = ["--minutes", "2", "--sessions", "4", "--rate", "20"];
    const child = spawn(
      process.execPath,
      [...IMPORTS_BUILT_PACKAGE, "bench/soak/run.ts", ...options],
      { env: { TMPDIR: temporary }, stdio: ["ignore", "pipe", "ignore"] },
    );
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    await once(child, "close");
    expect(readdirSync(temporary)).toEqual([]);
  },
);
