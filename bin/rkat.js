#!/usr/bin/env node
// Starts `rkat`. Written so that every Node since 10 can read it, and say that it is too old.
const OLDEST = [22, 18];
const [major, minor] = process.versions.node.split(".").map(Number);

/** Memory for new objects, in MB. Node 22 has this limit, and Node 24 lets a server take four times as much. */
const SERVER_FLAGS = ["--max-semi-space-size=16"];

/**
 * An import makes gigabytes of garbage and keeps little of it. V8 would let the heap grow to several times what is in
 * use, and the C library would keep what each thread frees for this thread.
 */
const IMPORT_FLAGS = ["--max-semi-space-size=1", "--heap-growing-percent=30"];
const IMPORT_ENV = { MALLOC_ARENA_MAX: "1" };

const [command, event, mode] = process.argv.slice(2);

if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) {
  if (command === "hook" && event === "import" && mode !== "--now") handOver();
  else {
    if (command === "serve") limitMemory(SERVER_FLAGS, {});
    if (process.argv.includes("import")) limitMemory(IMPORT_FLAGS, IMPORT_ENV);
    start();
  }
} else {
  fail(
    `rkat needs Node ${OLDEST.join(".")} or newer, and this is Node ${process.versions.node}; get one at https://nodejs.org, or run \`npx -p node@24 -p rkat rkat\`.`,
  );
}

function start() {
  // Node calls its SQLite experimental each time it loads it; who runs a command need not know.
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, options, ...rest) => {
    const type = typeof options === "object" && options !== null ? options.type : options;
    if (type === "ExperimentalWarning" && /SQLite/.test(String(warning))) return;
    emitWarning.call(process, warning, options, ...rest);
  };
  // These two empty the folder.
  if (command !== "install" && command !== "uninstall") keepCode();
  import("../dist/cli.js")
    .then((cli) => cli.runCli())
    .catch((error) =>
      fail(
        error.syscall === "uv_cwd"
          ? "The folder that you are in was removed. Go to another one."
          : `rkat cannot start: ${String(error)}`,
      ),
    );
}

/**
 * People and coding agents wait for a command, so Node keeps the compiled code for the next one: in the folder that an
 * import has made for hooks, if only you can write there. A writer of that code could change what rkat does.
 */
function keepCode() {
  const { RKAT_HOME, XDG_CONFIG_HOME, HOME } = process.env;
  const { isAbsolute, join } = process.getBuiltinModule("node:path");
  const home = join(RKAT_HOME || HOME || "", ".config");
  const config = !RKAT_HOME && isAbsolute(XDG_CONFIG_HOME || "") ? XDG_CONFIG_HOME : home;
  const folder = join(config, "rkat", "hooks");
  if (!isAbsolute(folder)) return;
  const { lstatSync } = process.getBuiltinModule("node:fs");
  const at = lstatSync(folder, { throwIfNoEntry: false });
  if (at === undefined || typeof process.geteuid !== "function") return;
  if (!at.isDirectory() || at.uid !== process.geteuid() || (at.mode & 0o022) !== 0) return;
  process.getBuiltinModule("node:module").enableCompileCache(join(folder, "code"));
}

/** Starts Node again with the limits, in the same process. They have no effect on a Node that is running. */
function limitMemory(flags, limits) {
  const { argv, execArgv, execPath, env } = process;
  const given = [...execArgv, env.NODE_OPTIONS].join(" ");
  const isLimited = flags.some((flag) => given.includes(flag.split("=")[0]));
  if (process.platform === "win32" || process.send || isLimited) return;
  process.execve(execPath, [execPath, ...execArgv, ...flags, ...argv.slice(1)], {
    ...limits,
    ...env,
  });
}

/** A coding agent does not wait for this: a process of its own reads what the agent tells, and does the work. */
function handOver() {
  const words = [...IMPORT_FLAGS, ...process.argv.slice(1, 4), "--now"];
  const env = { ...IMPORT_ENV, ...process.env };
  const options = {
    detached: true,
    stdio: ["inherit", "ignore", "ignore"],
    windowsHide: true,
    env,
  };
  import("node:child_process").then(({ spawn }) => {
    spawn(process.execPath, words, options)
      .on("error", () => {})
      .unref();
  });
}

function fail(sentence) {
  process.stderr.write(`error: ${sentence}\n`);
  process.exitCode = 1;
}
