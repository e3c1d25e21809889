import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser } from "playwright-core";

const PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

const PROGRAM = [process.env.RKAT_TEST_CHROMIUM ?? "", ...PLACES].find((path) => existsSync(path));

const packages = createRequire(import.meta.url);

/** Why the tests cannot run here; undefined when they can. Where a browser is required, they fail instead. */
export const MISSING: string | undefined = process.env.REQUIRE_BROWSER ? undefined : missing();

function missing(): string | undefined {
  if (PROGRAM === undefined) return "there is no Chromium, see RKAT_TEST_CHROMIUM";
  try {
    packages.resolve("playwright-core");
    return undefined;
  } catch {
    return "`npm run test:browser` installs what drives the browser";
  }
}

export async function launch(): Promise<Browser> {
  const { chromium } = packages("playwright-core") as typeof import("playwright-core");
  if (PROGRAM === undefined) throw new Error("There is no Chromium.");
  const isRoot = process.getuid?.() === 0;
  return await chromium.launch({
    executablePath: PROGRAM,
    // A sandbox cannot be made as root.
    args: isRoot ? ["--no-sandbox"] : [],
  });
}

export const AXE = (): string => packages.resolve("axe-core/axe.min.js");
