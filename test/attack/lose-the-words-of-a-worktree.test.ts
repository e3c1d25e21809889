import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { openProjectService } from "../../src/app/open-project-service.ts";
import { openMemory } from "../../src/app/open-stores.ts";
import { useOpened } from "../../src/app/opened.ts";
import { checkoutAround } from "../../src/config/config-places.ts";
import { trust } from "../../src/config/trust.ts";
import { folderForImport, openWorkspace } from "../../src/config/workspace.ts";
import { allowWarning } from "../support/expect-warning.ts";
import { temporaryFolder } from "../support/obey.ts";
import { Project } from "../support/rkat-process.ts";
import { execFileSync } from "../support/start-process.ts";
import { trials } from "../support/trials.ts";

const SETTINGS = 'model = "openai/theirs"\n';

/** A repository with a checked-in config.toml, in a home of its own. */
async function repository(kind: "plain" | "bare" = "plain") {
  // Its settings are not trusted, which each command that works without them says.
  allowWarning(/sets model, and you have not trusted that file/);
  const HOME = realpathSync(await temporaryFolder());
  const env = { HOME, XDG_CONFIG_HOME: undefined };
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=me", "-c", "user.email=me@example.org", ...args], {
      cwd,
      env: { HOME },
      stdio: "ignore",
    });
  const first = join(HOME, "app");
  mkdirSync(join(first, ".rkat"), { recursive: true });
  writeFileSync(join(first, ".rkat", "config.toml"), SETTINGS);
  writeFileSync(join(first, ".rkat", ".gitignore"), "*\n!config.toml\n");
  git(first, "init", "-q", "-b", "main");
  git(first, "add", "-Af");
  git(first, "commit", "-qm", "one");
  if (kind === "bare") git(HOME, "clone", "-q", "--bare", first, join(HOME, "app.git"));
  const main = kind === "bare" ? join(HOME, "app.git") : first;
  let count = 0;
  return {
    HOME,
    env,
    main,
    git,
    add(place = join(HOME, `tree${count}`)) {
      count += 1;
      git(main, "worktree", "add", "-q", "-b", `branch${count}`, place);
      return place;
    },
    remove: (tree: string) => git(main, "worktree", "remove", "--force", tree),
    open: (cwd: string) => openWorkspace({ cwd, env }, undefined),
  };
}

type Repository = Awaited<ReturnType<typeof repository>>;

async function note({ open }: Repository, folder: string, content: string) {
  const opened = await openMemory(await open(folder), "create");
  await useOpened(opened, (memory) => memory.addMemory({ content }));
}

async function notesIn({ open }: Repository, folder: string) {
  const opened = await openMemory(await open(folder), "existing");
  const page = await useOpened(opened, (memory) => memory.listMemory({ limit: 1000 }));
  return page.map(({ content }) => content).sort();
}

test.each(["plain", "bare"] as const)(
  "worktrees of a %s repository write, come and go: nothing is lost, each finds all, and none inherits trust",
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.constantFrom("write", "write", "come", "go"), { maxLength: 5 }), {
          minLength: 1,
          maxLength: 4,
        }),
        async (rounds) => {
          const one = await repository(kind);
          const places = placesOf(one.main);
          if (kind === "plain") {
            trust("folder", places.dataFolder, places, { HOME: process.env.HOME });
          }
          const trees = [one.add()];
          const written: string[] = [];
          for (const round of rounds) {
            // What is written in a round is written at once, in all of the worktrees.
            const writes: Promise<void>[] = [];
            for (const [at, step] of round.entries()) {
              const tree = trees[at % trees.length];
              if (step === "come") trees.push(one.add());
              else if (step === "write") {
                const content = `Note ${written.length} was written somewhere.`;
                written.push(content);
                writes.push(note(one, tree ?? one.main, content));
              }
            }
            await Promise.all(writes);
            for (const step of round) {
              const gone = step === "go" ? trees.pop() : undefined;
              if (gone !== undefined) one.remove(gone);
            }
          }
          for (const folder of [one.main, ...trees, one.add()]) {
            const { config, trust: trusted, storePlace } = await one.open(folder);
            expect(storePlace.folder).toBe(one.main);
            expect(await notesIn(one, folder)).toEqual([...written].sort());
            expect([trusted.settings, config.get("model")]).toEqual([false, undefined]);
          }
        },
      ),
      { numRuns: trials(1, 100) },
    );
  },
  600_000,
);

function placesOf(folder: string) {
  const dataFolder = join(folder, ".rkat");
  return { folder, dataFolder, storeFile: join(dataFolder, "rkat.db") };
}

test("settings that are trusted in the main checkout are not in its worktrees, nor the other way round", async () => {
  const one = await repository();
  const tree = one.add();
  const trusted = async (folder: string) => (await one.open(folder)).config.get("model");
  const believe = (folder: string) => {
    const places = placesOf(folder);
    trust("folder", places.dataFolder, places, one.env);
    trust("settings", join(places.dataFolder, "config.toml"), places, one.env);
  };
  believe(one.main);
  expect([await trusted(one.main), await trusted(tree)]).toEqual(["openai/theirs", undefined]);
  const other = one.add();
  believe(other);
  expect([await trusted(tree), await trusted(other)]).toEqual([undefined, "openai/theirs"]);
});

test.each([
  "another repository's worktree",
  "a repository that does not know it",
  "a link as .git",
  "a link as the repository",
  "a link as commondir",
  "a name that is no worktree",
])("a folder whose .git names %s gets no store of it", async (how) => {
  const one = await repository();
  const tree = one.add();
  await note(one, one.main, "The vault code is 4310.");
  const own = join(one.main, ".git", "worktrees", "tree0");
  const stranger = join(one.HOME, "stranger");
  mkdirSync(stranger);
  const entry = join(stranger, ".git");
  const name = (path: string) => writeFileSync(entry, `gitdir: ${path}\n`);
  if (how === "another repository's worktree") name(own);
  else if (how === "a repository that does not know it") {
    const theirs = join(one.main, ".git", "worktrees", "none");
    name(theirs);
  } else if (how === "a link as .git") symlinkSync(join(tree, ".git"), entry);
  else if (how === "a link as the repository") {
    const linked = join(one.HOME, "linked");
    symlinkSync(one.main, linked);
    name(join(linked, ".git", "worktrees", "tree0"));
    writeFileSync(join(own, "gitdir"), `${entry}\n`);
  } else if (how === "a link as commondir") {
    const theirs = join(stranger, "git", "worktrees", "x");
    mkdirSync(theirs, { recursive: true });
    name(theirs);
    writeFileSync(join(theirs, "gitdir"), `${entry}\n`);
    symlinkSync(join(own, "commondir"), join(theirs, "commondir"));
  } else name(join(one.main, ".git"));
  expect((await one.open(stranger)).storePlace.folder).toBe(stranger);
  expect(await notesIn(one, stranger)).toEqual([]);
  expect(await folderForImport(stranger, one.env)).toBe(one.HOME);
});

test("no file of git, whatever it says, leads to a store that the repository does not share", async () => {
  const one = await repository();
  const tree = one.add();
  const own = join(one.main, ".git", "worktrees", "tree0");
  const files = [join(tree, ".git"), join(own, "gitdir"), join(own, "commondir")];
  const texts = files.map((file) => readFileSync(file, "utf8"));
  const path = fc.constantFrom(
    "..",
    ".",
    "/",
    "",
    one.HOME,
    one.main,
    tree,
    "\0",
    own,
    "x".repeat(9000),
  );
  const text = fc.tuple(fc.constantFrom("gitdir: ", "", "\n"), fc.array(path, { maxLength: 4 }));
  fc.assert(
    fc.property(fc.nat(2), text, (at, [start, parts]) => {
      const file = files[at] as string;
      writeFileSync(file, `${start}${parts.join("/")}\n`);
      const found = checkoutAround(tree);
      expect([undefined, tree, one.main]).toContain(found?.main);
      writeFileSync(file, texts[at] as string);
      expect(checkoutAround(tree)).toMatchObject({ main: one.main, isLinked: true });
    }),
    { numRuns: trials(60, 20_000) },
  );
});

test("a submodule, a repository in another folder and a worktree that was moved have one store each", async () => {
  const one = await repository();
  one.git(one.main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", one.main, "sub");
  const sub = join(one.main, "sub");
  const tree = join(one.HOME, "subtree");
  one.git(sub, "worktree", "add", "-q", "-b", "part", tree);
  expect((await one.open(tree)).storePlace.folder).toBe(sub);
  expect((await one.open(sub)).storePlace.folder).toBe(sub);
  mkdirSync(join(one.HOME, "bare"));
  one.git(one.HOME, "clone", "-q", "--bare", one.main, join(one.HOME, "bare", ".bare"));
  writeFileSync(join(one.HOME, "bare", ".git"), "gitdir: ./.bare\n");
  const within = join(one.HOME, "bare", "feature");
  one.git(join(one.HOME, "bare"), "worktree", "add", "-q", "-b", "feature", within);
  expect((await one.open(within)).storePlace.folder).toBe(join(one.HOME, "bare"));
  const moved = join(one.HOME, "moved");
  one.git(one.main, "worktree", "move", one.add(), moved);
  expect((await one.open(moved)).storePlace.folder).toBe(one.main);
});

test("what a worktree kept by itself before is named with the command that adds it, and then found", async () => {
  const one = await repository();
  const tree = one.add();
  const project = await Project.open({ root: one.HOME });
  const env = { RKAT_TRUST: "" };
  const rkat = (cwd: string, ...args: string[]) => project.rkat(["--dir", cwd, ...args], "", env);
  await project.rkat(["--dir", tree, "memory", "add", "The old note."], "", {
    ...env,
    RKAT_SESSIONS__WORKTREES: "apart",
  });
  expect(existsSync(join(tree, ".rkat", "rkat.db"))).toBe(true);
  const { stderr } = await rkat(tree, "memory", "search", "old note");
  const [, move = ""] =
    /run `rkat --dir \S+ (move --from \S+ --to \S+)`/.exec(stderr.replaceAll(/\s+/g, " ")) ?? [];
  expect(move).not.toBe("");
  expect(await rkat(tree, ...move.split(" "))).toMatchObject({ code: 0 });
  rmSync(join(tree, ".rkat", "rkat.db"));
  expect((await rkat(one.main, "memory", "search", "old note")).stdout).toContain("The old note.");
});

test("a session knows its branch, and `last` is one of this worktree", async () => {
  const one = await repository();
  const tree = one.add();
  const ids: Record<string, string> = {};
  for (const folder of [one.main, tree]) {
    const opened = await openProjectService(await one.open(folder), "create");
    const created = await useOpened(opened, (service) =>
      service.createSession({
        model: "ollama/a",
        messages: [{ role: "user", content: "Hello." }],
      }),
    );
    ids[folder] = created.sessionId;
  }
  const opened = await openProjectService(await one.open(tree), "existing");
  await useOpened(opened, async (service) => {
    const found = async (filters: object) =>
      (await service.list(filters)).map(({ sessionId }) => sessionId);
    expect(await found({})).toHaveLength(2);
    expect(await found({ branch: "branch1" })).toEqual([ids[tree]]);
    expect(await found({ project: one.main })).toEqual([ids[one.main]]);
    const view = await service.read({ sessionId: ids[tree] ?? "" });
    expect(view.source).toMatchObject({ agent: "rkat", project: tree, branch: "branch1" });
    expect(view.source.open).toContain(`--dir ${one.main} `);
  });
  const project = await Project.open({ root: one.HOME });
  const other = one.add();
  for (const command of [
    ["continue", "go on"],
    ["chat", "--resume", "last"],
    ["chat", "--fork", "last"],
  ]) {
    const { code, stderr } = await project.rkat(["--dir", other, ...command]);
    expect([command, code, stderr]).toEqual([
      command,
      10,
      expect.stringContaining("no sessions yet"),
    ]);
  }
});
