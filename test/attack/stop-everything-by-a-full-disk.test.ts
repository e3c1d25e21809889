import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { SessionError } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { examineStore } from "../../src/stores/sqlite/examine-sqlite.ts";
import { builtProgram } from "../support/built-package.ts";
import { temporaryFolder } from "../support/obey.ts";
import { fork, spawnSync } from "../support/start-process.ts";

interface Answer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly text: string;
}

/** The answers of a server that cannot write any more, and what its process printed. */
async function answers(...args: readonly string[]) {
  const child = fork(builtProgram("on-a-full-disk"), args, { silent: true });
  onTestFinished(() => void child.kill("SIGKILL"));
  const found: Answer[] = [];
  child.on("message", (answer: Answer) => found.push(answer));
  const printed = Promise.all([child.stdout, child.stderr].map((stream) => stream && text(stream)));
  const [code] = await once(child, "exit");
  return { found, code, printed: (await printed).join("") };
}

const isRead = ({ method }: Answer) => method === "GET";

/** Nothing that a user sees is a code of the system, or blames rkat. */
function expectPlain(text: string): void {
  expect(text).not.toMatch(/\bE(?:NOSPC|FBIG|ROFS|ACCES|PERM)\b|bug in rkat|INTERNAL_ERROR/);
}

const isLinux = process.platform === "linux";

/** Whether a process may trace the one that started it. Many systems allow that to root only. */
const tracesParents = () =>
  process.getuid?.() === 0 ||
  !existsSync(PTRACE_SCOPE) ||
  readFileSync(PTRACE_SCOPE, "utf8").trim() === "0";
const PTRACE_SCOPE = "/proc/sys/kernel/yama/ptrace_scope";

const canTrace =
  isLinux && tracesParents() && spawnSync("strace", ["-f", "-o", "/dev/null", "true"]).status === 0;
const NEEDS_STRACE = { meta: { skipReason: "strace is not installed, or may not trace here" } };

const DISKS = [
  ["full", isLinux],
  ["read-only", canTrace],
] as const;

for (const [disk, canBe] of DISKS) {
  test.skipIf(!canBe)(
    `on a disk that became ${disk}, reading and searching go on in the running process`,
    disk === "full" ? {} : NEEDS_STRACE,
    async () => {
      const folder = await temporaryFolder();
      const { found, code, printed } = await answers(folder, disk);
      expect(found.length).toBeGreaterThan(15);
      for (const answer of found) {
        expectPlain(answer.text);
        const what = `${answer.method} ${answer.path}: ${answer.text}`;
        if (isRead(answer)) expect(answer.status, what).toBe(200);
        else expect(answer.text, what).toContain("SESSION_STORE_ERROR");
      }
      const search = found.filter(({ path }) => path.startsWith("/memory/search"));
      for (const answer of search) expect(answer.text).toContain("Always use tabs.");
      expectPlain(printed);
      expect(code).toBe(0);
      // What was said before is there when the disk can be written again, and the store is whole.
      const path = join(folder, "rkat.db");
      expect(examineStore(path)).toEqual([]);
      const stores = sqliteStores({ path });
      onTestFinished(() => stores.close());
      const { problems } = await stores.memory.verify();
      expect(problems).toEqual([]);
      const kept = await stores.memory.list({ limit: 10 });
      expect(kept.map(({ content }) => content)).toContain("The otter sleeps. Always use tabs.");
    },
  );
}

test.runIf(isLinux)(
  "where the files of sessions cannot be written, only what needs them fails",
  async () => {
    const { found, code, printed } = await answers(
      await temporaryFolder(),
      "full",
      "/sys/rkat-test",
    );
    for (const answer of found) {
      expectPlain(answer.text);
      const what = `${answer.method} ${answer.path}: ${answer.text}`;
      if (isRead(answer) || answer.path.endsWith("/messages"))
        expect(answer.status, what).toBe(200);
    }
    expect(found.find(({ method }) => method === "DELETE")?.text).toContain("SESSION_STORE_ERROR");
    expectPlain(printed);
    expect(code).toBe(0);
  },
);

test.each([
  ["ENOSPC", "the disk is full"],
  ["EDQUOT", "quota"],
  ["EROFS", "read-only"],
  ["EACCES", "permission denied"],
  ["EMFILE", "too many files"],
  ["EIO", "the disk failed"],
])("%s is told in words", (code, words) => {
  const raw = Object.assign(new Error(`${code}: raw`), { code, syscall: "write", path: "/a/file" });
  const told = SessionError.from(raw);
  expect(told.code).toBe("SESSION_STORE_ERROR");
  expect(told.message).toContain("/a/file could not be used: ");
  expect(told.message).toContain(words);
  expectPlain(told.message + told.hint);
});
