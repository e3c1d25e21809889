#!/usr/bin/env node
// Starts `rkat`. Written so that every Node since 10 can read it, and say that it is too old.
const OLDEST = [22, 18];
const [major, minor] = process.versions.node.split(".").map(Number);

if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) start();
else {
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
  import("../dist/cli.js")
    .then((cli) => cli.runCli())
    .catch((error) => fail(`rkat cannot start: ${String(error)}`));
}

function fail(sentence) {
  process.stderr.write(`error: ${sentence}\n`);
  process.exitCode = 1;
}
