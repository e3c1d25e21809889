import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: true;
  readonly hasInstallScript?: true;
}

const read = (file: string) => JSON.parse(readFileSync(file, "utf8"));
const about = read("package.json") as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
};
const locked = Object.entries(
  (read("package-lock.json") as { packages: Record<string, Locked> }).packages,
).filter(([path]) => path !== "");

test("each package of the lock file is the one with this content, from wherever it comes", () => {
  expect(locked.length).toBeGreaterThan(100);
  const loose = locked.filter(([, { integrity = "" }]) => !/^sha512-.{86}==$/.test(integrity));
  expect(loose).toEqual([]);
});

test("the lock file names no server to download from", () => {
  expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});

test("of all install scripts only that of the checkout's own Node runs", () => {
  const scripted = locked
    .filter(([, { hasInstallScript }]) => hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ""));
  const allowed = scripted.filter((name) => about.allowScripts[name] !== false);
  expect(allowed).toEqual(["node"]);
});

test("what users install runs nothing", () => {
  const shipped = locked.filter(([, { dev }]) => !dev);
  expect(shipped.length).toBeGreaterThan(0);
  expect(shipped.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  const hooks = ["preinstall", "install", "postinstall"];
  expect(hooks.filter((hook) => hook in about.scripts)).toEqual([]);
});
