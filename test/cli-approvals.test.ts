import { expect, test } from "vitest";
import type { ScriptedReply } from "../src/testing.ts";
import { chatOnTerminal, hasScript, ON_TERMINAL } from "./support/on-terminal.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedProvider } from "./support/scripted-provider.ts";

const asks = (id: string): ScriptedReply => ({
  toolCalls: [{ id, name: "datetime", args: { time_zone: "Europe/Berlin" } }],
});

async function projectThatAsks(...replies: ScriptedReply[]): Promise<Project> {
  const provider = await scriptedProvider(replies, async () => {});
  return await Project.open({ provider, config: '[tools.datetime]\npolicy = "ask"' });
}

test("a run without a terminal pauses at a call that needs approval, says what to do, and has its own exit code", async () => {
  const project = await projectThatAsks(asks("a"), "it is late");
  const run = await project.rkat(["run", "what time is it?"]);
  expect(run.code).toBe(25);
  expect(run.stdout).toBe("");
  expect(run.stderr).toContain("note: a tool call waits for approval.");
  const list = await project.rkat(["approvals"]);
  expect(list.stdout).toContain('→ datetime {"time_zone":"Europe/Berlin"}');
  expect(list.stdout).toContain("for: what time is it?");
  const allowed = await project.rkat(["approvals", "allow"]);
  expect(allowed.code).toBe(0);
  const [{ session_id }] = (await project.json(["sessions", "list", "--json"])) as [
    { readonly session_id: string },
  ];
  // The beginning of an id may be that of another session, too.
  expect(allowed.stderr).toBe(`Allowed. Continue with \`rkat resume ${session_id}\`.\n`);
  const resumed = await project.rkat(["continue"]);
  expect(resumed.stdout).toBe("it is late\n");
  expect(resumed.code).toBe(0);
  const again = await project.rkat(["approvals", "deny"]);
  expect(again.code).toBe(14);
});

test("what to type next carries the --dir and --user of the command line", async () => {
  const project = await projectThatAsks(asks("a"), "it is late");
  project.write("it's here/.rkat/config.toml", '[tools.datetime]\npolicy = "ask"');
  const rkat = "rkat --dir 'it'\\''s here' --user ada";
  const as = ["--dir", "it's here", "--user", "ada"];
  const run = await project.rkat([...as, "run", "what time is it?"]);
  expect(run.code).toBe(25);
  expect(run.stderr).toContain(`\`${rkat} approvals list\``);
  expect(run.stderr).toContain(`continue with \`${rkat} continue\``);
  const allowed = await project.rkat([...as, "approvals", "allow"]);
  expect(allowed.stderr).toContain(`\`${rkat} resume `);
  const deleted = await project.rkat([...as, "sessions", "delete", "last"]);
  expect(deleted.stderr).toContain(`days: ${rkat} sessions restore `);
  const unknown = await project.rkat([...as, "sessions", "show", "nosuch"]);
  expect(unknown.stderr).toContain(`\`${rkat} sessions list\``);
  // This hint names the folder itself.
  const untrusted = { HOME: `${project.folder}/elsewhere`, RKAT_TRUST: "" };
  const list = await project.rkat([...as, "sessions", "list"], "", untrusted);
  expect(list.code).toBe(42);
  expect(list.stderr).toContain("Run `rkat --user ada trust --dir '");
});

test("an unknown subcommand is answered with the list of subcommands", async () => {
  const project = await projectThatAsks();
  const wrong = await project.rkat(["approvals", "accept"]);
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toContain("Commands: list, allow, deny, rules, revoke.");
});

test("a denial with a reason, piped in, changes the prompt of the next session", async () => {
  const project = await projectThatAsks(asks("a"), "I see", "hello");
  const run = await project.rkat(
    ["run", "--on-approval", "prompt", "plan my day"],
    "no, ask the calendar instead\n",
  );
  expect(run.stderr).toContain('→ datetime {"time_zone":"Europe/Berlin"}');
  expect(run.stderr).toContain('"always" (s or p) allows every call of datetime');
  expect(run.stderr).toContain(
    "Run it? y, n, n and why, s (always in this session), p (always in this project) ›",
  );
  expect([run.code, run.stdout]).toEqual([0, "I see\n"]);
  const known = await project.rkat(["knowledge", "list"]);
  expect(known.stdout).toMatch(/^rule {7}When you are about to call datetime/);
  expect(known.stdout).toContain("correction Attempted tool 'datetime'");
  await project.rkat(["run", "hi"]);
  const shown = await project.rkat(["sessions", "show", "last"]);
  expect(shown.stdout).toContain("## Learned Behavioral Rules");
  expect(shown.stdout).toContain('saying "ask the calendar instead"');
});

test("several calls are asked about one after the other; when the answers end, the rest waits", async () => {
  const calls = ["a", "b", "c"].map((id) => ({ id, name: "datetime", args: {} }));
  const project = await projectThatAsks({ toolCalls: calls }, "done");
  const run = await project.rkat(["run", "--on-approval", "prompt", "go"], "yes\nno\n");
  expect(run.code).toBe(25);
  expect(await project.json(["approvals", "list", "--json"])).toHaveLength(1);
  const resumed = await project.rkat(["resume", "last", "--on-approval", "prompt"], "y\n");
  expect([resumed.code, resumed.stdout]).toEqual([0, "done\n"]);
});

test("`--on-approval deny` denies, and nothing is learned from it", async () => {
  const project = await projectThatAsks(asks("a"), "then not");
  const run = await project.rkat(["run", "--on-approval", "deny", "go"]);
  expect([run.code, run.stdout]).toEqual([0, "then not\n"]);
  expect(await project.json(["knowledge", "list", "--json"])).toEqual([]);
});

test("a waiting run continues when another process answers", async () => {
  const project = await projectThatAsks(asks("a"), "it is late");
  const running = project.start(["run", "--on-approval", "wait", "what time is it?"]);
  await expect.poll(() => project.json(["approvals", "list", "--json"])).toHaveLength(1);
  const answered = await project.json(["approvals", "allow", "--json"]);
  expect(answered).toMatchObject({ continues: true, waiting: 0 });
  expect(await running.ended).toMatchObject({ code: 0, stdout: "it is late\n" });
});

test("a call outlives a killed run, and can be answered later", async () => {
  const project = await projectThatAsks(asks("a"), "I see");
  const running = project.start(["run", "--on-approval", "wait", "what time is it?"]);
  await expect.poll(() => project.json(["approvals", "list", "--json"])).toHaveLength(1);
  running.child.kill("SIGKILL");
  await running.ended;
  expect(await project.json(["approvals", "list", "--json"])).toHaveLength(1);
  const denied = await project.json(["approvals", "deny", "--json", "--reason", "Not now."]);
  expect(denied).toMatchObject({ continues: false, waiting: 0 });
  const resumed = await project.rkat(["resume", "last"]);
  expect(resumed).toMatchObject({ code: 0, stdout: "I see\n" });
  const known = await project.json(["knowledge", "list", "--kind=correction", "--json"]);
  expect(known).toMatchObject([{ reason: "Not now.", count: 1 }]);
});

test("a session with a waiting call counts as the last used", async () => {
  const project = await projectThatAsks("one", "two", asks("a"), "it is late");
  const ids: string[] = [];
  for (const prompt of ["first", "second"]) {
    const args = ["run", "--output=json", prompt];
    ids.push(((await project.json(args)) as { session_id: string }).session_id);
  }
  await project.rkat(["resume", ids[0] ?? "", "what time is it?"]);
  await project.rkat(["approvals", "allow"]);
  expect((await project.rkat(["continue"])).stdout).toBe("it is late\n");
});

test("a new prompt denies the waiting call", async () => {
  const project = await projectThatAsks(asks("a"), "on we go");
  await project.rkat(["run", "what time is it?"]);
  const next = await project.rkat(["continue", "never mind"]);
  expect(next.stdout).toBe("on we go\n");
  expect(await project.json(["approvals", "list", "--json"])).toEqual([]);
});

test("`--approval` makes one session ask", async () => {
  const provider = await scriptedProvider([asks("a")], async () => {});
  const project = await Project.open({ provider });
  const run = await project.rkat(["run", "--approval", "date*=ask", "go"]);
  expect(run.code).toBe(25);
  const bad = await project.rkat(["run", "--approval", "date*=perhaps", "go"]);
  expect(bad.code).toBe(2);
});

test("knowledge can be added, shown, edited, pinned, listed and forgotten", async () => {
  const project = await Project.open();
  const added = await project.rkat(["knowledge", "add", "Always", "use", "pnpm."]);
  expect(added.stderr).toMatch(/^Learned preference:/);
  const id = added.stderr.trim().split(" ")[1] ?? "";
  expect((await project.rkat(["knowledge", "show", id.slice(-8)])).stdout).toContain(
    "Always use pnpm.\n",
  );
  await project.rkat(["knowledge", "edit", id, "Always", "use", "yarn."]);
  await project.rkat(["knowledge", "pin", id]);
  const distilled = await project.rkat(["knowledge", "distill"]);
  expect(distilled.stdout).toContain("## Learned Behavioral Rules");
  expect(distilled.stdout).toContain("1. Always use yarn.\n");
  const hits = (await project.json(["memory", "search", "--json", "yarn"])) as unknown[];
  expect(hits.length).toBeGreaterThan(0);
  await project.rkat(["knowledge", "add", "Never use yarn."]);
  const contradicted = await project.rkat(["knowledge", "distill"]);
  expect(contradicted.stdout).toContain("1. Always use yarn.\n");
  expect((await project.rkat(["knowledge", "forget", id])).code).toBe(0);
  expect((await project.rkat(["knowledge", "show", id])).code).toBe(15);
  expect(await project.json(["memory", "search", "--json", "Always yarn pinned"])).not.toEqual(
    hits,
  );
});

test.skipIf(!hasScript)(
  "at a terminal, an entry that a part of its id names is forgotten after a question",
  async () => {
    const project = await Project.open();
    await project.rkat(["knowledge", "add", "--kind", "fact", "The port is 4310."]);
    const left = () => project.json(["knowledge", "list", "--json"]);
    for (const [answer, count] of [
      ["n", 1],
      ["y", 0],
    ] as const) {
      const asked = chatOnTerminal(project, {}, `${ON_TERMINAL} knowledge forget fact`);
      await asked.sees('Forget "The port is 4310." for good? [y/N]');
      asked.type(`${answer}\r`);
      await asked.ends();
      expect(await left()).toHaveLength(count);
    }
  },
);

test("with knowledge off nothing is learned, and its commands say so", async () => {
  const project = await Project.open({ config: "[knowledge]\nenabled = false" });
  const added = await project.rkat(["knowledge", "add", "Always use pnpm."]);
  expect(added.code).toBe(40);
  expect(added.stderr).toContain("enabled = true under [knowledge]");
});

test("p allows the shown calls in every session of the project, and the project's own denial wins over it", async () => {
  const project = await projectThatAsks(asks("a"), "late", asks("b"), "later", asks("c"), "I see");
  const first = await project.rkat(["run", "--on-approval", "prompt", "go"], "p\n");
  expect([first.code, first.stdout]).toEqual([0, "late\n"]);
  const second = await project.rkat(["run", "go"]);
  expect([second.code, second.stdout]).toEqual([0, "later\n"]);
  project.write(".rkat/config.toml", '[tools.datetime]\npolicy = "deny"');
  const third = await project.rkat(["run", "go", "--verbose"]);
  expect([third.code, third.stdout]).toEqual([0, "I see\n"]);
  expect(third.stderr).toContain("The settings do not allow datetime.");
});

test("what was allowed for good is listed and revoked, for the session and for the project", async () => {
  const replies = ["a", "b", "c", "d"].flatMap((id) => [asks(id), "done"]);
  const project = await projectThatAsks(...replies);
  expect((await project.rkat(["approvals", "rules"])).stderr).toBe(
    "Nothing is allowed for good.\n",
  );
  await project.rkat(["run", "--on-approval", "prompt", "go"], "s\n");
  await project.rkat(["continue", "--on-approval", "prompt", "again"], "");
  await project.rkat(["run", "--on-approval", "prompt", "go"], "p\n");
  const [, first] = (await project.json(["sessions", "list", "--json"])) as {
    session_id: string;
  }[];
  const session = first?.session_id ?? "";
  const rules = ["approvals", "rules", "--json", "--session", session];
  const rule = { tool: "datetime" };
  expect(await project.json(rules)).toEqual({ project: [rule], session: [rule] });
  const shown = await project.rkat(["approvals", "rules", "--session", session]);
  expect(shown.stdout).toMatch(
    /^in this project\n {2}every call of datetime\nin session [\w-]+\n {2}every call of datetime\n$/,
  );

  await project.rkat(["approvals", "revoke", "datetime"]);
  await project.rkat(["approvals", "revoke", "datetime", "--session", session]);
  expect(await project.json(rules)).toEqual({ project: [], session: [] });
  expect((await project.rkat(["resume", session, "and again"])).code).toBe(25);
  for (const where of [[], ["--session", session]]) {
    const wrong = await project.rkat(["approvals", "revoke", "datetime", ...where]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("Nothing to revoke");
    expect(wrong.stderr).toContain("rkat approvals rules");
  }
});

test("a denial in another process shows what is learned from it, and how to refuse that", async () => {
  const project = await projectThatAsks(asks("a"));
  await project.rkat(["run", "what time is it?"]);
  const denied = await project.rkat(["approvals", "deny", "--reason", "Look at the clock."]);
  expect(denied.stderr).toMatch(
    /learned for new sessions: When you are about to call datetime.*Look at the clock.*To refuse it: rkat knowledge forget rule:\S+\n$/,
  );
  const [, id = ""] = /forget (\S+)/.exec(denied.stderr) ?? [];
  await project.rkat(["knowledge", "forget", id]);
  expect(await project.json(["knowledge", "list", "--kind=rule", "--json"])).toEqual([]);
});

test("an empty name is no id of a call, although it is the beginning of each", async () => {
  const project = await projectThatAsks(asks("a"), "it is late");
  await project.rkat(["run", "what time is it?"]);
  for (const decision of ["allow", "deny"]) {
    const { code, stderr } = await project.rkat(["approvals", decision, ""]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("The id of the call is empty.")]);
  }
  expect(await project.json(["approvals", "list", "--json"])).toHaveLength(1);
});

test("a script is told as a person is that there is nothing to revoke", async () => {
  const project = await projectThatAsks(asks("a"), "it is late");
  await project.rkat(["run", "what time is it?"]);
  for (const where of [[], ["--session", "last"]]) {
    const revoke = ["approvals", "revoke", "datetime", ...where];
    expect((await project.rkat(revoke)).code).toBe(2);
    const { code, stdout, stderr } = await project.rkat([...revoke, "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ code: "INVALID_PARAMS" });
  }
});
