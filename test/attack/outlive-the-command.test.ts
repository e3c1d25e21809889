import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { StartedProcesses } from "../../src/tools/project/started-processes.ts";
import { projectForTools } from "../support/project-for-tools.ts";
import { Project } from "../support/rkat-process.ts";
import { scriptedProvider } from "../support/scripted-provider.ts";
import { spawn, spawnSync } from "../support/start-process.ts";
import { sampled } from "../support/trials.ts";

const ON_LINUX = process.platform === "linux";

/** Ways in which a command leaves something behind. `{}` is what goes on. */
const WAYS: Readonly<Record<string, string>> = {
  "in the background": "{} &",
  "in a session of its own": "setsid {} &",
  "in a session, without its output": "setsid {} >/dev/null 2>&1 &",
  "by two forks": "(setsid sh -c '{} & exit' &)",
  "without an environment": "env -i setsid {} &",
  "without an environment, an open file, or a parent":
    "(env -i setsid -f {} </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&-)",
  "deaf to signals": "trap '' HUP TERM INT; setsid {} & nohup {} >/dev/null 2>&1 &",
  "as a chain that goes on by itself":
    "echo '[ \"$1\" -gt 400 ] && exit; setsid sh ./chain $(($1+1)) & {}' > chain; setsid sh ./chain 0 &",
};

/** Processes that have this text among their arguments. */
function running(mark: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(mark);
    } catch {
      return false;
    }
  });
}

let marks = 0;
/** A sleep of its own, which ends by itself should the test fail. */
function aSleep() {
  marks += 1;
  const mark = `61.${process.pid}${marks}`;
  onTestFinished(() => {
    for (const pid of running(mark)) process.kill(Number(pid), "SIGKILL");
  });
  return { sleep: `sleep ${mark}`, mark };
}

test.runIf(ON_LINUX).each(sampled(Object.entries(WAYS), { of: 2, at: 1 }, "attacks"))(
  "nothing that a command left %s outlives it, and the turn does not wait",
  async (_, way) => {
    const { call, folder } = await projectForTools();
    const { sleep, mark } = aSleep();
    const command = `${way.replaceAll("{}", sleep)}\necho done`;
    expect(await call("run_command", { command })).toBe("[exit code 0]\ndone\n");
    expect(running(mark)).toEqual([]);

    // Where this user may make no cgroup.
    const started = new StartedProcesses(command, { folder, env: { PATH: process.env.PATH } });
    started.child.stdout.resume();
    await once(started.child, "exit");
    expect(await started.end()).toBe(0);
    expect(running(mark)).toEqual([]);
  },
);

test.runIf(ON_LINUX)("nothing outlives the limit, nor the turn", async () => {
  const { call, folder } = await projectForTools();
  const [late, stopped] = [aSleep(), aSleep()];
  const command = `setsid ${late.sleep} & env -i ${late.sleep}`;
  expect(await call("run_command", { command, timeout_s: 1 })).toBe("[killed after 1 s]");
  expect(running(late.mark)).toEqual([]);
  const turn = new AbortController();
  const begun = call(
    "run_command",
    { command: `env -i setsid ${stopped.sleep} & touch begun; ${stopped.sleep}` },
    turn.signal,
  );
  while (!existsSync(join(folder, "begun"))) await sleep(10);
  turn.abort();
  await begun;
  expect(running(stopped.mark)).toEqual([]);
});

test.runIf(ON_LINUX)("another command that runs at the same time goes on", async () => {
  const { call, folder } = await projectForTools();
  const first = call("run_command", {
    command: "touch one; until [ -e two ]; do sleep 0.02; done; echo first",
  });
  while (!existsSync(join(folder, "one"))) await sleep(10);
  expect(await call("run_command", { command: "setsid sleep 61 & echo second" })).toMatch("second");
  await call("run_command", { command: "touch two" });
  expect(await first).toBe("[exit code 0]\nfirst\n");
});

/** A turn of the command line in which a command runs. */
async function turnWith(command: string) {
  const args = { command: `${command} & touch begun; ${command}` };
  const calls = [{ id: "c1", name: "run_command", args }];
  const project = await Project.open({ provider: await scriptedProvider([{ toolCalls: calls }]) });
  const turn = project.start(["run", "--allow", "run_command", "Go."]);
  await expect.poll(() => existsSync(join(project.folder, "begun"))).toBe(true);
  return turn;
}

const DEATHS = (["SIGKILL", "SIGHUP"] as const).flatMap((signal) =>
  ["env -i setsid ", ""].map((way) => ({ signal, way })),
);

test.runIf(ON_LINUX).each(sampled(DEATHS, { of: 3, at: 0 }, "attacks"))(
  "nothing that a command started with '$way' outlives rkat itself when that gets $signal",
  async ({ signal, way }) => {
    const { sleep, mark } = aSleep();
    const turn = await turnWith(way + sleep);
    turn.kill(signal);
    await turn.ended;
    await expect.poll(() => running(mark)).toEqual([]);
  },
);

test.runIf(ON_LINUX)("no watcher outlives its command", async () => {
  const { call } = await projectForTools();
  for (let count = 0; count < 3; count += 1) await call("run_command", { command: "true" });
  const own = () =>
    running("rkat-watcher").filter((pid) => {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(process.pid);
    });
  await expect.poll(own).toEqual([]);
});

const SERVED = `
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind("held")
server.listen()
client = server.accept()[0]
held = socket.recv_fds(client, 1, 1)
client.send(b"x")
sys.stdin.read()`;
const SENT = `
import socket
client = socket.socket(socket.AF_UNIX)
client.connect("held")
socket.send_fds(client, [b"x"], [1])
client.recv(1)`;

/** Node cannot hand an open file to another process. */
const HAS_PYTHON =
  ON_LINUX && spawnSync("python3", ["-c", "import socket; socket.send_fds"]).status === 0;

test.runIf(HAS_PYTHON)(
  "the turn does not wait for another program that holds the command's output",
  async () => {
    const { call, folder } = await projectForTools();
    const server = spawn("python3", ["-c", SERVED], { cwd: folder, stdio: "pipe" });
    onTestFinished(() => void server.kill("SIGKILL"));
    while (!existsSync(join(folder, "held"))) await sleep(10);
    const command = `python3 -c '${SENT}' && echo done`;
    expect(await call("run_command", { command })).toBe("[exit code 0]\ndone\n");
    expect(server.exitCode).toBeNull();
  },
);
