import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { RKAT } from "./built-package.ts";
import { temporaryFolder } from "./obey.ts";
import type { ProviderServer } from "./provider-server/provider-server.ts";
import { type ChildProcess, spawn } from "./start-process.ts";
import { systemEnvironment } from "./system-environment.ts";
import { LONG } from "./trials.ts";
import { type Ended, type RunningCommand, startWarm } from "./warm-commands.ts";

interface RunningProcess extends RunningCommand {
  readonly child: ChildProcess;
}

/** A folder with its own home, in which the real command runs. */
export class Project {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;

  /** The command line that starts `rkat`. */
  readonly program = [process.execPath, RKAT] as const;

  readonly ownProcesses: boolean;

  private constructor(
    folder: string,
    env: Readonly<Record<string, string>>,
    ownProcesses: boolean,
  ) {
    this.folder = folder;
    this.env = env;
    this.ownProcesses = ownProcesses;
  }

  static async open(
    options: {
      readonly config?: string;
      readonly provider?: ProviderServer;
      /** The home; one of its own when it is not given. */
      readonly root?: string;
      /** The address of a store, instead of the project's file. */
      readonly store?: string;
      /** Starts a process for each command, as the long form of the tests always does. */
      readonly ownProcesses?: boolean;
    } = {},
  ): Promise<Project> {
    const root = options.root ?? (await temporaryFolder());
    const folder = join(root, "project");
    mkdirSync(folder, { recursive: true });
    // What a test puts into the project is as good as its own.
    const own = { HOME: root, RKAT_TRUST: "true" };
    const store = options.store === undefined ? {} : { RKAT_STORE: options.store };
    const env = { ...systemEnvironment(), ...own, ...store, ...providerEnv(options.provider) };
    const project = new Project(folder, env, options.ownProcesses ?? LONG);
    if (options.config !== undefined) project.write(".rkat/config.toml", options.config);
    return project;
  }

  /** Writes a file of the project and returns its path in it. */
  write(path: string, content: string): string {
    mkdirSync(join(this.folder, path, ".."), { recursive: true });
    writeFileSync(join(this.folder, path), content);
    return path;
  }

  /** Writes the user's own settings, which are outside of the project. */
  writeOwnConfig(content: string): void {
    const folder = join(this.folder, "..", ".config", "rkat");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.toml"), content);
  }

  /** Runs a command line to its end. */
  rkat(
    args: readonly string[],
    stdin = "",
    env: Readonly<Record<string, string>> = {},
  ): Promise<Ended> {
    return this.run(args, stdin, env).ended;
  }

  /** The same, parsed: what a script reads. */
  async json(args: readonly string[], stdin = ""): Promise<unknown> {
    const { code, stdout, stderr } = await this.rkat(args, stdin);
    if (code !== 0) throw new Error(`rkat ${args.join(" ")} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** Runs a command line, in a process that ran others before unless it has to be its own. */
  run(
    args: readonly string[],
    stdin = "",
    env: Readonly<Record<string, string>> = {},
  ): RunningCommand {
    if (this.ownProcesses) return this.start(args, stdin, env);
    return startWarm({ args, folder: this.folder, env: { ...this.env, ...env }, stdin });
  }

  /** Starts a process for a command line, which a test may watch, interrupt and kill. */
  start(
    args: readonly string[],
    stdin = "",
    env: Readonly<Record<string, string>> = {},
  ): RunningProcess {
    const child = spawn(this.program[0], [RKAT, ...args], {
      cwd: this.folder,
      env: { ...this.env, ...env },
      stdio: "pipe",
    });
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
    const kill = (signal: NodeJS.Signals) => void child.kill(signal);
    onTestFinished(() => kill("SIGKILL"));
    return { child, stdout: child.stdout, ended: endOf(child), kill };
  }
}

async function endOf(child: ChildProcess): Promise<Ended> {
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
    // A test may close a pipe on purpose; then nothing is read from it.
    return stream ? text(stream).catch(() => "") : "";
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout: (await stdout) ?? "", stderr: (await stderr) ?? "" };
}

function providerEnv(provider: ProviderServer | undefined): Record<string, string> {
  if (!provider) return {};
  return {
    OPENAI_BASE_URL: provider.urls.openai,
    OPENAI_API_KEY: "test",
    RKAT_MODEL: "openai/gpt-test",
  };
}
