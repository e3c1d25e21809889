import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { onTestFinished } from "vitest";

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

/** A step of a page may take long on a busy machine. */
const STEP_MS = 60_000;

/** Of a test of several steps. */
export const TEST_MS = 3 * STEP_MS;

/** A page of its own, until the test ends. Says what it shows where the test fails. */
export async function newPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(STEP_MS);
  const page = await context.newPage();
  onTestFinished(async ({ task }) => {
    if (task.result?.state === "fail") console.error(await page.locator("body").ariaSnapshot());
    await context.close();
  });
  return page;
}

export const AXE = (): string => packages.resolve("axe-core/axe.min.js");
