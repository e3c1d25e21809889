import { mkdirSync, realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/obey.ts";
import { findProject, userConfigFile } from "./config-places.ts";

/** Makes folders under a home of their own; returns the home. */
async function home(...folders: string[]): Promise<string> {
  const root = realpathSync(await temporaryFolder());
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  return root;
}

test("the project is the nearest folder above that has a .rkat", async () => {
  const HOME = await home("work/.rkat", "work/src/deep");
  expect(findProject(join(HOME, "work/src/deep"), { HOME })).toBe(join(HOME, "work"));
});

test("without a .rkat the project is the folder itself", async () => {
  const HOME = await home("work/src");
  expect(findProject(join(HOME, "work/src"), { HOME })).toBe(join(HOME, "work/src"));
});

test("looking up ends at the root of a git repository", async () => {
  const HOME = await home("work/.rkat", "work/repository/.git", "work/repository/src");
  const folder = join(HOME, "work/repository/src");
  expect(findProject(folder, { HOME })).toBe(folder);
});

test("a .rkat in the home folder is not everybody's, but it is the home folder's", async () => {
  const HOME = await home(".rkat", "work");
  expect(findProject(join(HOME, "work"), { HOME })).toBe(join(HOME, "work"));
  expect(findProject(HOME, { HOME })).toBe(HOME);
});

test("a home folder that is reached by a link is no project either", async () => {
  const root = await home("ada/.rkat", "ada/work");
  symlinkSync(join(root, "ada"), join(root, "link"));
  const folder = join(root, "ada/work");
  expect(findProject(folder, { HOME: join(root, "link") })).toBe(folder);
});

test("the user's file is where the system keeps settings", () => {
  expect(userConfigFile({ HOME: "/home/ada" }, "linux")).toBe("/home/ada/.config/rkat/config.toml");
  expect(userConfigFile({ HOME: "/home/ada", XDG_CONFIG_HOME: "/etc/ada" }, "linux")).toBe(
    "/etc/ada/rkat/config.toml",
  );
  expect(userConfigFile({ HOME: "/home/ada", XDG_CONFIG_HOME: "relative" }, "linux")).toBe(
    "/home/ada/.config/rkat/config.toml",
  );
  expect(userConfigFile({ APPDATA: "/roaming" }, "win32")).toBe("/roaming/rkat/config.toml");
});

test("RKAT_HOME names the place of the user's file, and a relative or empty home none", () => {
  const other = { HOME: "/home/ada", XDG_CONFIG_HOME: "/etc/ada", APPDATA: "/roaming" };
  for (const platform of ["linux", "win32"]) {
    expect(userConfigFile({ ...other, RKAT_HOME: "/data" }, platform)).toBe(
      "/data/.config/rkat/config.toml",
    );
  }
  for (const HOME of ["/", ".", "home/ada"])
    expect(userConfigFile({ HOME }, "linux")).toBeUndefined();
  expect(() => userConfigFile({ HOME: "/home/ada", RKAT_HOME: "data" })).toThrow(
    expect.objectContaining({ code: "INVALID_CONFIG" }),
  );
});

test("without a home the search for a project ends below the root", async () => {
  const root = await home("work/.rkat", "work/src");
  expect(findProject(join(root, "work/src"), { HOME: "/" })).toBe(join(root, "work"));
});
