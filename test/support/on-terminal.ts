import { once } from "node:events";
import { stripTerminalSequences } from "@earendil-works/pi-tui";
import { expect, onTestFinished } from "vitest";
import { shellWord } from "../../src/text/quoting.ts";
import { RKAT } from "./built-package.ts";
import type { Project } from "./rkat-process.ts";
import { spawn, spawnSync } from "./start-process.ts";

/** `script` of util-linux runs a command on a terminal of its own. Other systems have other ones. */
export const hasScript = spawnSync("script", ["--version"]).stdout?.includes("util-linux") ?? false;

export const ON_TERMINAL = [process.execPath, RKAT].map(shellWord).join(" ");

/** A command that runs on a terminal. */
export interface TerminalCommand {
  /** Waits for a text after the last one that was waited for. */
  sees(text: string): Promise<void>;
  type(keys: string): void;
  /** What it has written up to now, with control sequences. */
  written(): string;
  ends(): Promise<{ readonly code: unknown; readonly written: string }>;
}

/** Starts a chat, or another command line, on a terminal of 80 columns. */
export function chatOnTerminal(
  project: Project,
  env: Readonly<Record<string, string>> = {},
  command = `${ON_TERMINAL} chat`,
): TerminalCommand {
  const child = spawn("script", ["-qfec", `stty cols 80 rows 24; exec ${command}`, "/dev/null"], {
    cwd: project.folder,
    env: { ...project.env, TERM: "xterm-256color", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  // What is typed after the end reaches nobody.
  child.stdin.on("error", () => {});
  const closed = once(child, "close");
  let written = "";
  let read = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written += text;
  });
  return {
    async sees(text) {
      const found = () => stripTerminalSequences(written).indexOf(text, read);
      await expect.poll(found, { timeout: 20_000, message: text }).toBeGreaterThanOrEqual(0);
      read = found() + text.length;
    },
    type: (keys) => void child.stdin.write(keys),
    written: () => written,
    async ends() {
      const [code] = await closed;
      return { code, written };
    },
  };
}
