import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ClaudeLines } from "./support/claude-lines.ts";
import { Project } from "./support/rkat-process.ts";

const idOf = (number: number) => `${number}f3c2b1a-1111-4222-8333-444455556666`;

/** A home with transcripts of Claude Code, and projects in it. */
async function openHome() {
  const project = await Project.open();
  const home = join(project.folder, "..");
  const transcripts = join(home, ".claude", "projects", "talks");
  mkdirSync(transcripts, { recursive: true });
  return {
    project,
    home,
    /** A session that was held in a folder, with a question and an answer. */
    say(number: number, cwd: string, question: string): string {
      const id = idOf(number);
      const path = join(transcripts, `${id}.jsonl`);
      const lines = new ClaudeLines(id, { cwd }).user(question).text(`msg_${id}`, "I see.");
      writeFileSync(path, String(lines));
      return path;
    },
  };
}

/** What a store has, by the folder that it belongs to. */
async function storedIn(project: Project, folder: string): Promise<readonly string[]> {
  const list = await project.json(["--dir", folder, "memory", "list", "--json"]);
  return (list as { content: string; role: string }[])
    .filter(({ role }) => role === "user")
    .map(({ content }) => content)
    .sort();
}

test("a session goes to the store of its project, and to the user-wide one without any", async () => {
  const { project, home, say } = await openHome();
  const shop = join(home, "shop");
  mkdirSync(join(shop, "api"), { recursive: true });
  mkdirSync(join(home, "plain"));
  await project.rkat(["--dir", shop, "init"]);
  say(1, join(shop, "api"), "Where is the price rounded?");
  say(2, join(home, "plain"), "Which port has staging?");
  say(3, "/gone/for/good", "Why is the build slow?");
  const { stdout, code } = await project.rkat(["import", "-y"]);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^Added 6 messages of 3 sessions\.\n {2}\d to ~\/.*\n {2}\d to ~\/.*\n$/),
  ]);
  expect(stdout).toContain("  2 to ~/shop/.rkat\n");
  expect(stdout).toContain("  4 to ~/.rkat\n");
  expect(await storedIn(project, shop)).toEqual(["Where is the price rounded?"]);
  expect(await storedIn(project, home)).toEqual([
    "Which port has staging?",
    "Why is the build slow?",
  ]);
  expect(existsSync(join(home, "plain", ".rkat"))).toBe(false);
  const again = await project.rkat(["import", "-y"]);
  expect(again.stdout).toBe("Added 0 messages of 3 sessions. 6 were there already.\n");
});

test("nothing is written to a checkout that you do not trust", async () => {
  const { project, home, say } = await openHome();
  const untrusting = { RKAT_TRUST: "" };
  const mine = join(home, "mine");
  mkdirSync(mine);
  await project.rkat(["--dir", mine, "memory", "add", "A note."], "", untrusting);
  // What came with the checkout, store and settings and all.
  const checkout = join(home, "checkout");
  cpSync(mine, checkout, { recursive: true });
  writeFileSync(join(checkout, ".rkat", "config.toml"), "[capabilities]\nsession_store = true\n");
  const before = readdirSync(join(checkout, ".rkat"));
  say(1, checkout, "What does this checkout do?");
  say(2, mine, "What do I do?");
  const { stdout } = await project.rkat(["import", "-y"], "", untrusting);
  expect(stdout).toContain("  2 to ~/.rkat\n");
  expect(stdout).toContain("  2 to ~/mine/.rkat\n");
  expect(readdirSync(join(checkout, ".rkat"))).toEqual(before);
  expect(await storedIn(project, home)).toEqual(["What does this checkout do?"]);
});

test("an import goes to the store that you name, and to nothing else", async () => {
  const { project, home, say } = await openHome();
  const [shop, library] = [join(home, "shop"), join(home, "library")];
  mkdirSync(shop);
  await project.rkat(["--dir", shop, "init"]);
  say(1, shop, "Where is the price rounded?");
  say(2, home, "Which port has staging?");
  const { stdout } = await project.rkat(["--dir", library, "import", "-y"]);
  expect(stdout).toContain("  4 to ~/library/.rkat\n");
  expect(existsSync(join(home, ".rkat"))).toBe(false);
  expect(await storedIn(project, shop)).toEqual([]);
});

test("a session stays in the store that has it, and comes back to a project whose store was deleted", async () => {
  const { project, home, say } = await openHome();
  const shop = join(home, "shop");
  mkdirSync(shop);
  const first = say(1, shop, "Where is the price rounded?");
  await project.rkat(["import", "-y"]);
  await project.rkat(["--dir", shop, "init"]);
  const more = new ClaudeLines(idOf(1), { cwd: shop })
    .user("Where is the price rounded?")
    .text(`msg_${idOf(1)}`, "I see.")
    .user("And the tax?");
  writeFileSync(first, String(more));
  say(2, shop, "Which currency is it?");
  const grown = await project.rkat(["import", "-y"]);
  expect(grown.stdout).toContain("  1 to ~/.rkat\n");
  expect(grown.stdout).toContain("  2 to ~/shop/.rkat\n");
  expect(await storedIn(project, home)).toEqual(["And the tax?", "Where is the price rounded?"]);

  rmSync(join(shop, ".rkat"), { recursive: true });
  await project.rkat(["--dir", shop, "init"]);
  await project.rkat(["import", "-y"]);
  expect(await storedIn(project, shop)).toEqual(["Which currency is it?"]);
});

test("what was forgotten in the user-wide store does not come back with a project's store", async () => {
  const { project, home, say } = await openHome();
  const shop = join(home, "shop");
  mkdirSync(shop);
  say(1, shop, "The staging password is in the drawer of Ada.");
  await project.rkat(["import", "-y"]);
  const [entry] = (await project.json(["memory", "search", "drawer of Ada", "--json"])) as {
    id: string;
  }[];
  await project.rkat(["--dir", home, "memory", "forget", entry?.id ?? "", "--yes"]);
  await project.rkat(["--dir", shop, "init"]);
  say(2, shop, "The staging password is in the drawer of Ada.");
  await project.rkat(["import", "-y"]);
  expect(await storedIn(project, shop)).toEqual([]);
  const entries = await project.json(["--dir", shop, "memory", "list", "--json"]);
  expect(entries).toMatchObject([{ content: "I see." }]);
});
