import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { findProject } from "../../src/config/config-places.ts";
import { trust, trustIn } from "../../src/config/trust.ts";
import { examineWorkspace } from "../../src/config/workspace.ts";
import { temporaryFolder } from "../support/obey.ts";
import { execFileSync } from "../support/start-process.ts";
import { trials } from "../support/trials.ts";

const RKATS = ["none", "folder", "file", "link out", "broken link"] as const;
const GITS = ["none", "folder", "file", "link", "bare"] as const;
const level = fc.record({ rkat: fc.constantFrom(...RKATS), git: fc.constantFrom(...GITS) });

function placesOf(folder: string) {
  const dataFolder = join(folder, ".rkat");
  return { folder, dataFolder, storeFile: join(dataFolder, "rkat.db") };
}

function makeLevel(folder: string, { rkat, git }: { rkat: string; git: string }, outside: string) {
  mkdirSync(folder);
  const [data, repository] = [join(folder, ".rkat"), join(folder, ".git")];
  if (rkat === "folder") {
    mkdirSync(data);
    writeFileSync(join(data, "config.toml"), 'model = "openai/theirs"\n');
    writeFileSync(join(data, "rkat.db"), "");
  } else if (rkat === "file") writeFileSync(data, "");
  else if (rkat === "link out") symlinkSync(outside, data);
  else if (rkat === "broken link") symlinkSync(join(folder, "nowhere"), data);
  if (git === "folder") mkdirSync(repository);
  else if (git === "file") writeFileSync(repository, `gitdir: ${outside}\n`);
  else if (git === "link") symlinkSync(outside, repository);
  else if (git === "bare") writeFileSync(join(folder, "HEAD"), "ref: refs/heads/main\n");
}

test("the project is never above the repository that one is in, and no other project shares its trust", async () => {
  const base = realpathSync(await temporaryFolder());
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(level, { minLength: 1, maxLength: 5 }),
      fc.nat(),
      fc.boolean(),
      async (levels, chosen, isInData) => {
        count += 1;
        const HOME = join(base, String(count));
        const outside = join(HOME, "outside");
        for (const made of [HOME, outside]) mkdirSync(made);
        const folders: string[] = [];
        for (const [index, each] of levels.entries()) {
          folders.push(join(folders.at(-1) ?? HOME, `level${index}`));
          makeLevel(folders.at(-1) as string, each, outside);
        }
        const deepest = folders.at(-1) as string;
        const isReal = (path: string) =>
          lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
        const start = isInData && isReal(join(deepest, ".rkat")) ? join(deepest, ".rkat") : deepest;
        const project = findProject(start, { HOME });
        const way = [start, ...folders.toReversed()].filter((each) => each.startsWith(project));
        expect(start.startsWith(project)).toBe(true);
        for (const below of way) {
          if (below !== project) expect(existsSync(join(below, ".git"))).toBe(false);
        }
        if (project !== start) expect(isReal(join(project, ".rkat"))).toBe(true);
        const misleading = {
          GIT_DIR: outside,
          GIT_WORK_TREE: outside,
          GIT_CEILING_DIRECTORIES: "/",
        };
        expect(findProject(start, { HOME, ...misleading })).toBe(project);

        const all = folders.filter((each) => isReal(join(each, ".rkat")));
        for (const each of all) {
          expect(trustIn(placesOf(each), { HOME })).toEqual({ settings: false, store: false });
        }
        const trusted = all[chosen % (all.length || 1)];
        if (trusted === undefined) return;
        const places = placesOf(trusted);
        trust("folder", places.dataFolder, places, { HOME });
        trust("settings", join(places.dataFolder, "config.toml"), places, { HOME });
        trust("store", places.storeFile, places, { HOME });
        for (const each of all) {
          const yes = each === trusted;
          expect(trustIn(placesOf(each), { HOME })).toEqual({ settings: yes, store: yes });
        }
        const { workspace } = await examineWorkspace({ cwd: start, env: { HOME } }, undefined);
        expect(workspace.config.get("model")).toBe(
          project === trusted ? "openai/theirs" : undefined,
        );
        // A checkout of the same files, or the same folder somewhere else, is another project.
        const copy = join(HOME, "copy");
        cpSync(trusted, copy, { recursive: true, verbatimSymlinks: true });
        expect(trustIn(placesOf(copy), { HOME })).toEqual({ settings: false, store: false });
        rmSync(join(copy, ".rkat"), { recursive: true });
        renameSync(join(trusted, ".rkat"), join(copy, ".rkat"));
        expect(trustIn(placesOf(copy), { HOME })).toEqual({ settings: false, store: false });
        rmSync(HOME, { recursive: true, force: true });
      },
    ),
    { numRuns: trials(20, 3_000) },
  );
}, 600_000);

test("worktrees, submodules and bare repositories of git are projects of their own, and not trusted", async () => {
  const HOME = realpathSync(await temporaryFolder());
  const main = join(HOME, "main");
  const GIT = [
    "-c",
    "user.name=me",
    "-c",
    "user.email=me@example.org",
    "-c",
    "protocol.file.allow=always",
  ];
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", [...GIT, ...args], {
      cwd,
      env: { HOME },
      stdio: "ignore",
    });
  mkdirSync(join(main, ".rkat"), { recursive: true });
  writeFileSync(join(main, ".rkat", "config.toml"), 'model = "openai/theirs"\n');
  git(main, "init", "-q");
  git(main, "add", "-Af");
  git(main, "commit", "-qm", "one");
  git(main, "worktree", "add", "-q", join(HOME, "tree"));
  git(HOME, "clone", "-q", "--bare", main, join(HOME, "bare.git"));
  git(main, "submodule", "add", "-q", join(HOME, "bare.git"), "parts/sub");
  const places = placesOf(main);
  trust("folder", places.dataFolder, places, { HOME });
  trust("settings", join(places.dataFolder, "config.toml"), places, { HOME });
  for (const [cwd, project] of [
    [main, main],
    [join(HOME, "tree"), join(HOME, "tree")],
    [join(main, "parts"), main],
    [join(main, "parts/sub"), join(main, "parts/sub")],
    [join(HOME, "bare.git"), join(HOME, "bare.git")],
    [join(HOME, "bare.git/refs"), join(HOME, "bare.git/refs")],
    [join(main, ".git/modules"), main],
  ] as const) {
    const env = { HOME, GIT_DIR: join(main, ".git"), GIT_WORK_TREE: main };
    const { workspace } = await examineWorkspace({ cwd, env }, undefined);
    expect([workspace.folder, workspace.config.get("model")]).toEqual([
      project,
      project === main ? "openai/theirs" : undefined,
    ]);
  }
  expect(dirname(main)).toBe(HOME);
});
