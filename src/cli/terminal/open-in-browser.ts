import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Terminal } from "./terminal.ts";

/**
 * Opens a link in the browser, and returns what cleans up. The link has a secret, and everybody on a machine can read
 * the arguments of a program. So the browser is given a file that only you can read, which leads to the link.
 */
export async function openInBrowser(
  link: string,
  { stderr, env }: Pick<Terminal, "stderr" | "env">,
): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "rkat-open-"));
  const file = join(folder, "open.html");
  await writeFile(file, pageTo(link), { mode: 0o600 });
  const [program, ...args] = opener(file, env);
  const child = spawn(program, args, { stdio: "ignore", detached: true });
  child.once("error", () => void stderr.write("No browser was found. Open the link yourself.\n"));
  child.unref();
  return () => rm(folder, { recursive: true, force: true });
}

function pageTo(link: string): string {
  const target = link.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<!doctype html><meta charset="utf-8"><title>rkat</title><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${target}"><a href="${target}">Open rkat</a>\n`;
}

function opener(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly [string, ...string[]] {
  if (env.BROWSER) return [env.BROWSER, file];
  if (process.platform === "darwin") return ["open", file];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", file];
  return ["xdg-open", file];
}
