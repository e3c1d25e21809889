/**
 * `node test/browser/screenshots.ts` makes the pictures of the README: `npm start` on a terminal, and the real page with
 * its demo in it. Run `npm run build` and `npm run test:browser` before it. It needs `script` of util-linux.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { shellWord } from "../../src/text/quoting.ts";
import { execFileSync, spawn } from "../support/start-process.ts";
import { launch } from "./browser.ts";

const FOLDER = "docs/images";
/** Lines of the terminal. */
const LINES = 24;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's sequences begin with one
const SEQUENCE = /\x1b\[\??([\d;]*)([A-Za-z])/g;
/** Codes that end a colour or a weight. */
const ENDS = new Set(["c0", "c22", "c39"]);
const TERMINAL = `
  body { margin: 0; background: #16171a; }
  pre { margin: 0; padding: 18px 20px; font: 14px/1.45 monospace; color: #e8e6e1; background: #16171a; }
  .c1 { font-weight: 700; } .c2, .c90 { color: #8d8f96; } .c31 { color: #f08a80; } .c32 { color: #7fc08f; }
  .c33 { color: #e5b567; } .c34, .c36 { color: #86b9e6; } .c35 { color: #d7a3d9; }
`;

const HOME = mkdtempSync(join(tmpdir(), "rkat-pictures-"));
const project = join(HOME, "tidemark");
const env = { HOME };
const demo = `stty cols 96 rows 40; exec ${shellWord(process.execPath)} demo/run.ts ${shellWord(project)}`;
const written = execFileSync("script", ["-qfec", demo, "/dev/null"], {
  env: { ...env, TERM: "xterm-256color" },
  encoding: "utf8",
});
const server = spawn(
  process.execPath,
  ["bin/rkat.js", "--dir", project, "inspect", "last", "--no-open", "--write"],
  { env, stdio: ["ignore", "ignore", "pipe"] },
);
const browser = await launch();
mkdirSync(FOLDER, { recursive: true });
try {
  const link = await printedLink();
  await picture(link, "light", "Transcript");
  await picture(link, "dark", "Compactions");
  await terminal();
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
    await page
      .getByRole("article")
      .filter({ hasText: /^model/ })
      .first()
      .waitFor();
  } else {
    await page.evaluate((seq) => {
      location.hash += `?seq=${seq}`;
    }, firstEdit());
    await page
      .getByRole("button", { name: /^edit_file/ })
      .first()
      .click();
  }
  await page.mouse.move(0, 0);
  await page.screenshot({ path: `${FOLDER}/inspect-${part.toLowerCase()}.png` });
  await context.close();
}

/** The event with the first change of a file. */
function firstEdit(): number {
  const args = ["bin/rkat.js", "--dir", project, "sessions", "events", "last", "--json"];
  const log = execFileSync(process.execPath, args, { env, encoding: "utf8", maxBuffer: 1e8 });
  const lines = log.trim().split("\n");
  return JSON.parse(lines.find((line) => line.includes('"edit_file"')) ?? "{}").seq;
}

/** The beginning of the demo, as the terminal shows it. */
async function terminal(): Promise<void> {
  const page = await browser.newPage({
    colorScheme: "dark",
    viewport: { width: 860, height: 100 },
  });
  const lines = written.replaceAll("\r", "").split("\n");
  await page.setContent(`<style>${TERMINAL}</style><pre>${htmlOf(lines.slice(0, LINES))}</pre>`);
  await page.locator("pre").screenshot({ path: `${FOLDER}/terminal.png` });
  await page.close();
}

/** Lines with the sequences of a terminal for colours, as HTML. */
function htmlOf(lines: readonly string[]): string {
  const escaped = lines.join("\n").replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  let open = 0;
  const html = escaped.replaceAll(SEQUENCE, (_, codes: string, letter: string) => {
    if (letter !== "m") return "";
    const classes = codes.split(";").map((code) => `c${Number(code)}`);
    const isEnd = classes.every((name) => ENDS.has(name));
    const closed = isEnd ? "</span>".repeat(open) : "";
    open = isEnd ? 0 : open + 1;
    return isEnd ? closed : `<span class="${classes.join(" ")}">`;
  });
  return html + "</span>".repeat(open);
}
