import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nothingFound } from "./import-command.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "rkat-nothing-"));
});

afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const why = (source: Parameters<typeof nothingFound>[0] = {}) =>
  nothingFound(source, { env: {}, home });

test("an agent without transcripts is named, with the folders where they would be", () => {
  const codex = join(home, ".codex");
  expect(why({ agent: "codex" }).message).toBe(
    `No transcripts of codex were found in ${join(codex, "sessions")} or ${join(codex, "archived_sessions")}.`,
  );
  // It has two formats.
  const kilo = why({ agent: "kilo" }).message;
  expect(kilo).toContain(join(home, ".local", "share", "kilo"));
  expect(kilo).toContain("kilocode.kilo-code");
  expect(why().message).toBe("No transcripts were found on this machine.");
  expect(why({ path: home }).message).toBe(`No transcripts were found in ${home}.`);
});

test("an agent of the web needs an export", () => {
  const { message, hint } = why({ agent: "chatgpt" });
  expect(message).toBe("chatgpt keeps no transcripts on this machine.");
  expect(hint).toMatch(/export .*`rkat import chatgpt /);
});

test("a folder that cannot be read is named", () => {
  mkdirSync(join(home, ".codex"));
  writeFileSync(join(home, ".codex", "sessions"), "This is no folder.");
  expect(why().message).toContain(`${join(home, ".codex", "sessions")}: it cannot be read: `);
});

// An administrator may read everything.
test.skipIf(process.getuid?.() === 0 || process.platform === "win32")(
  "a folder without permission is named, also when only one above it is closed",
  { meta: { skipReason: "root may read everything" } },
  () => {
    const folder = join(home, ".claude");
    const projects = join(folder, "projects");
    mkdirSync(projects, { recursive: true });
    for (const closed of [projects, folder]) {
      chmodSync(closed, 0);
      expect(why().message).toContain(
        `${projects}: it cannot be read: you have no permission to read it.`,
      );
      chmodSync(closed, 0o700);
    }
  },
);
