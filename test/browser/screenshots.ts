/**
 * `node test/browser/screenshots.ts` makes the pictures of the README: the real page with the demo of `npm start` in
 * it. Run `npm run build` and `npm run test:browser` before it.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { execFileSync, spawn } from "../support/start-process.ts";
import { launch } from "./browser.ts";

const HOME = mkdtempSync(join(tmpdir(), "rkat-pictures-"));
const project = join(HOME, "tidemark");
const env = { HOME };
execFileSync(process.execPath, ["demo/run.ts", project], { env, stdio: "ignore" });
const server = spawn(
  process.execPath,
  ["bin/rkat.js", "--dir", project, "inspect", "last", "--no-open", "--write"],
  { env, stdio: ["ignore", "ignore", "pipe"] },
);
const browser = await launch();
try {
  const link = await printedLink();
  await picture(link, "light", "Transcript");
  await picture(link, "dark", "Compactions");
} finally {
  await browser.close();
  server.kill();
  rmSync(HOME, { recursive: true, force: true });
}

async function printedLink(): Promise<string> {
  for await (const line of createInterface({ input: server.stderr })) {
    const link = /http:\S+/.exec(line)?.[0];
    if (link) return link;
  }
  throw new Error("The server did not start.");
}

async function picture(link: string, colorScheme: "light" | "dark", part: string): Promise<void> {
  const viewport = { width: 1000, height: 600 };
  const context = await browser.newContext({ colorScheme, viewport });
  const page = await context.newPage();
  await page.goto(link);
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByRole("link", { name: part }).click();
  await page.getByRole("article").first().waitFor();
  if (part === "Compactions") {
    await page.getByRole("navigation", { name: part }).getByRole("link").nth(1).click();
  } else {
    await page
      .getByRole("button", { name: /read_file/ })
      .first()
      .click();
  }
  await page.mouse.move(0, 0);
  mkdirSync("docs/images", { recursive: true });
  await page.screenshot({ path: `docs/images/inspect-${part.toLowerCase()}.png` });
  await context.close();
}
