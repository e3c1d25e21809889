import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { commandEnvironment } from "../../src/tools/project/command-environment.ts";
import { projectForTools } from "../support/project-for-tools.ts";
import { spawnSync } from "../support/start-process.ts";

const ON_POSIX = process.platform !== "win32";

test("no path leads out of the project: not by .., not from the root, not by a null", async () => {
  const { call, outside } = await projectForTools({ "a.txt": "inside" });
  const paths = [
    "../outside/secret.txt",
    "x/../../outside/secret.txt",
    join(outside, "secret.txt"),
    "/etc/passwd",
    "..",
    "a.txt\0/../../outside/secret.txt",
  ];
  for (const path of paths) {
    for (const [tool, args] of [
      ["read_file", { path }],
      ["write_file", { path, content: "mine" }],
      ["edit_file", { path, old_text: "outside", new_text: "mine" }],
    ] as const) {
      const read = await call(tool, args);
      expect(read, `${tool} ${path}`).toMatch(/^(denied|execution_failed|undefined|ERR\w+): /);
      expect(read).not.toContain("9417");
    }
  }
  expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("outside-9417");
  expect(await call("read_file", { path: "a.txt" })).toBe("inside");
});

test.runIf(ON_POSIX)(
  "no link leads out of the project, for reading, editing or making",
  async () => {
    const { call, folder, outside } = await projectForTools({ "a.txt": "inside" });
    symlinkSync(join(outside, "secret.txt"), join(folder, "file"));
    symlinkSync(outside, join(folder, "docs"));
    symlinkSync(join(outside, "new.txt"), join(folder, "dangling"));
    for (const path of [
      "file",
      "docs/secret.txt",
      "docs/new.txt",
      "docs/deep/new.txt",
      "dangling",
    ]) {
      expect(await call("read_file", { path })).toMatch(/^denied: .* is a link/);
      expect(await call("write_file", { path, content: "mine" })).toMatch(/^denied: .* is a link/);
      const edit = { path, old_text: "outside", new_text: "mine" };
      expect(await call("edit_file", edit)).toMatch(/^denied: .* is a link/);
    }
    expect(await call("list_files", {})).toBe("a.txt");
    expect(await call("search_files", { texts: ["outside"] })).toBe("No line matches.");
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("outside-9417");
    for (const made of ["new.txt", "deep"]) expect(existsSync(join(outside, made))).toBe(false);
  },
);

test("what git would run, and what rkat keeps, is closed", async () => {
  const { call, folder } = await projectForTools({
    ".git/config": "[core]",
    "sub/.git/config": "[core]",
    ".rkat/config.toml": "",
  });
  for (const path of [
    ".git/config",
    ".GIT/hooks/pre-commit",
    "sub/.git/config",
    ".rkat/config.toml",
    ".rkat./rkat.db",
    // Other names that file systems of Windows and macOS have for them.
    "git~1/hooks/pre-commit",
    "sub/GIT~2/config",
    "RKAT~1/config.toml",
    ".git::$INDEX_ALLOCATION/config",
    ".git:hidden",
    ".g\u200cit/config",
    ".rk\ufeffat/config.toml",
  ]) {
    expect(await call("read_file", { path })).toMatch(/^denied: .* is closed\./);
    expect(await call("write_file", { path, content: "x" })).toMatch(/^denied: .* is closed\./);
  }
  expect(await call("list_files", {})).toBe("No file matches.");
  expect(existsSync(join(folder, ".git", "hooks"))).toBe(false);
  expect(await call("write_file", { path: "git~notes.md", content: "x" })).toMatch(/^Made/);
});

test.runIf(ON_POSIX)("a pipe in the project does not stop the turn", async () => {
  const { call, folder } = await projectForTools({ "a.txt": "inside" });
  spawnSync("mkfifo", [join(folder, "pipe")]);
  expect(await call("read_file", { path: "pipe" })).toMatch(/^denied: .* is not a regular file/);
  expect(await call("search_files", { texts: ["inside"] })).toBe("a.txt:1: inside");
});

test.each([
  ".env",
  ".ENV",
  ".env.",
  "app/.env.local",
  "prod.env",
  "deploy/server.pem",
  "keys/id_ed25519",
  "home/.aws/config",
  ".npmrc",
  "credentials.json",
  "config/secrets.yml",
  "infra/terraform.tfvars",
  "infra/prod.auto.tfvars.json",
  "terraform.tfstate.backup",
  ...[".env~", ".env-prod", ".env_staging.bak", ".env.local.2024-01-02", "env.production"],
  ...[".dev.vars", "prod.vars", ".flaskenv", ".envs/.local/.postgres", "..env.swp", ".env (1)"],
  ...["secrets/prod.yaml", "k8s/app-secrets/db.yml", "deploy/keys/signing.txt", "creds/a"],
  ...["serviceAccountKey.json", "service-account.prod.json", "my-firebase-adminsdk-x1.json"],
  ...[
    ".vault-token",
    ".vault_pass.txt",
    ".yarnrc.yml",
    ".pgpass.old",
    ".bash_history",
    "id_rsa.bak",
  ],
  ...[
    ...[
      "kube/config",
      ".Renviron",
      "cookies.txt",
      "appsettings.Production.json",
      "oauth_client.json",
    ],
    "clientSecret.json",
    "db-password.txt",
    "token.json",
    "auth.json",
    "master.key",
    "wp-config.php",
  ],
])("%s asks before it is read, each time, and no search shows it", async (path) => {
  const { call, policy, named } = await projectForTools({ [path]: "PASSWORD=tangerine" });
  expect(policy("read_file", { path })).toBe("ask");
  expect(policy("read_file", { path: `./x/../${path}` })).toBe("ask");
  for (const tool of ["read_file", "edit_file", "write_file"]) {
    expect(named(tool).always?.({ path })).toBeUndefined();
  }
  const searched = await call("search_files", { texts: ["tangerine"] });
  expect(searched).not.toContain("PASSWORD");
});

test.each([
  ...["src/a.ts", ".env.example", "id_ed25519.pub", "src/credentials.ts", "key.ts", "package.json"],
  ...["src/secrets/find-secrets.ts", "docs/secrets.md", "secrets.schema.json", "environment.yml"],
  ...["keyboard.json", "design/tokens/colors.json", "tsconfig.json", "pyvenv.cfg", ".gitignore"],
])("%s is read without a question", async (path) => {
  const { policy } = await projectForTools();
  expect(policy("read_file", { path })).toBe("allow");
});

/** Made here, so that this file has none in it. */
const TOKEN = `ghp_${"a1B2".repeat(9)}`;

test("a file with a credential in it asks before it is read, whatever its name and the part", async () => {
  const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index}`);
  const long = Array.from({ length: 200_000 }, (_, index) => `line ${index}`);
  const { policy, named, call } = await projectForTools({
    "notes.md": `Staging:\n${TOKEN}\n`,
    "long.txt": [...lines, TOKEN].join("\n"),
    "huge.txt": [TOKEN, ...long].join("\n"),
    "plain.txt": "nothing",
  });
  const args = { path: "notes.md" };
  expect(policy("read_file", args)).toBe("ask");
  expect(named("read_file").always?.(args)).toBeUndefined();
  // The user approved it.
  expect(await call("read_file", args)).toContain(TOKEN);
  expect(policy("read_file", { path: "long.txt", lines: 10 })).toBe("ask");
  expect(policy("read_file", { path: "huge.txt", from_line: 200, lines: 10 })).toBe("ask");
  expect(policy("read_file", { path: "huge.txt", from_line: 100_000 })).toBe("allow");
  expect(policy("read_file", { path: "plain.txt" })).toBe("allow");
  expect(await call("search_files", { texts: ["ghp_", "staging", "nothing"] })).toBe(
    "plain.txt:1: nothing\n[not searched: 3 files that may hold credentials]",
  );
});

test("a file that gets a credential between the question and the answer is not shown unasked", async () => {
  const { policy, call, folder } = await projectForTools({ "a.txt": "nothing" });
  const args = { path: "a.txt" };
  expect(policy("read_file", args)).toBe("allow");
  writeFileSync(join(folder, "a.txt"), TOKEN);
  expect(await call("read_file", args)).toMatch(/^denied: a\.txt has changed since/);
  expect(policy("read_file", { ...args })).toBe("ask");
});

test('"always" for a command allows that command, and none that begins like it', async () => {
  const { named } = await projectForTools();
  const always = (command: string) => named("run_command").always?.({ command });
  expect(always("npm test")).toEqual({ tool: "run_command", command: "npm test" });
  // Hidden, or shown otherwise than it runs, or with a key that would be stored.
  for (const command of [
    "npm test\u202e",
    "npm\u0007 test",
    `curl -H "x-api-key: ${"sk-ant-api03-"}${"Ab1".repeat(31)}AA"`,
  ]) {
    expect(always(command)).toBeUndefined();
  }
  expect(named("run_command").policy).toBe("ask");
  expect(named("edit_file").policy).toBe("ask");
  expect(named("write_file").policy).toBe("ask");
});

/** Variables in which people and programs keep credentials. No list of them is complete. */
const WITH_CREDENTIALS = [
  ...["DB_PASS", "MYSQL_PWD", "SSHPASS", "GH_PAT", "REDIS_AUTH", "CREDS", "DOCKER_AUTH_CONFIG"],
  ...["npm_config__auth", "NETRC", "DATABASE_URL", "SENTRY_DSN", "KUBECONFIG_DATA", "AWS_SESSION"],
  ...["OPENAI_API_KEY", "RKAT_MODEL", "RKAT_STORE", "SSH_AUTH_SOCK", "GIT_ASKPASS", "MY_LICENSE"],
];

test("a command sees harmless variables, those that you name, and no others of any name", () => {
  const words = ["PASS", "AUTH", "PAT", "DSN", "LC_ALL", "HOME", "PATH", "XDG", "lc_all", "X"];
  const name = fc.oneof(
    fc.constantFrom(...WITH_CREDENTIALS),
    fc.array(fc.constantFrom(...words), { minLength: 2, maxLength: 3 }).map((all) => all.join("_")),
    fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}_[a-z0-9]{1,8}$/),
  );
  const proxy = { HTTPS_PROXY: "http://me:x@proxy:8080", http_proxy: "http://proxy:8080" };
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 20 }), (names) => {
      const others = names.filter(
        (each) => !(each in proxy) && !/^(no|all|https)_proxy$/.test(each),
      );
      const given = { ...Object.fromEntries(others.map((each) => [each, "hunter"])), ...proxy };
      const env = { ...given, HOME: "/home/me", PATH: "/bin", MY_OWN: "mine", LC_TIME: "C" };
      const { NO_COLOR, TERM, PAGER, GIT_PAGER, GIT_TERMINAL_PROMPT, ...seen } = commandEnvironment(
        env,
        ["MY_OWN", "NOT_SET"],
      );
      expect(seen).toEqual({
        ...{ HOME: "/home/me", PATH: "/bin", MY_OWN: "mine", LC_TIME: "C" },
        http_proxy: "http://proxy:8080",
      });
    }),
  );
});

test.runIf(ON_POSIX)("a command that runs sees no key of yours", async () => {
  const { call } = await projectForTools();
  const seen = await call("run_command", { command: "env" });
  expect(seen).toContain("HOME=");
  expect(seen).not.toContain("OPENAI_API_KEY");
});

/** Whether a process still runs, found by an argument that only it has. */
const runs = (mark: string) => spawnSync("pgrep", ["-f", mark]).status === 0;

test.runIf(ON_POSIX)(
  "what a command started dies with it: at its end, at its limit, and with the turn",
  async () => {
    const { call, folder } = await projectForTools();
    const begun = (name: string) => existsSync(join(folder, name));
    const mark = () => `98${Math.floor(Math.random() * 1e8)}`;

    const [left, slow, stopped] = [mark(), mark(), mark()];
    expect(await call("run_command", { command: `sleep ${left} & echo done` })).toBe(
      "[exit code 0]\ndone\n",
    );
    const late = call("run_command", { command: `(sleep ${slow}; true) | cat`, timeout_s: 1 });
    expect(await late).toBe("[killed after 1 s]");
    const turn = new AbortController();
    const call_ = call(
      "run_command",
      { command: `(touch begun; sleep ${stopped}; true) | cat` },
      turn.signal,
    );
    while (!begun("begun")) await sleep(10);
    turn.abort();
    await call_;
    for (const one of [left, slow, stopped]) await expect.poll(() => runs(one)).toBe(false);
  },
);

test("a long output is kept at both ends, and a line of any length is bounded", async () => {
  const { call } = await projectForTools({ "one-line.js": "x".repeat(3_000_000) });
  const long = await call("read_file", { path: "one-line.js" });
  expect(long.length).toBeLessThan(5_000);
  if (!ON_POSIX) return;
  const output = await call("run_command", { command: "seq 1 200000" });
  expect(output.length).toBeLessThan(31_000);
  expect(output).toMatch(/^\[exit code 0\]\n1\n2\n/);
  expect(output).toMatch(/\n\[… \d+ bytes left out …\]\n/);
  expect(output).toMatch(/\n200000\n$/);
});

test("a glob of any form is compared at once", async () => {
  const { call } = await projectForTools({ [`${"a".repeat(200)}.txt`]: "inside" });
  // Backtracking would take longer than this test may.
  for (const glob of [`${"*a".repeat(200)}b`, `${"**/".repeat(150)}b`, `${"{a,b}".repeat(40)}`]) {
    expect(await call("list_files", { glob })).toBe("No file matches.");
  }
});

test.runIf(ON_POSIX)("in your home folder, and above it, there are no tools", async () => {
  const { projectTools } = await import("../../src/tools/project/project-tools.ts");
  const { folder, outside } = await projectForTools();
  mkdirSync(join(folder, "home"));
  symlinkSync(folder, join(outside, "link"));
  const env = { HOME: join(folder, "home") };
  for (const path of ["/", folder, join(folder, "home"), join(outside, "link")]) {
    expect(projectTools(path, "all", env)).toEqual([]);
  }
  expect(projectTools(outside, "read", env)).toHaveLength(3);
  expect(projectTools(outside, "none", env)).toEqual([]);
});
