import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { sessionStoreLaws } from "../src/testing.ts";
import { IMPORTS_BUILT_PACKAGE } from "./support/built-package.ts";
import { temporaryFolder } from "./support/obey.ts";
import { freshSchema, hasPostgres, NEEDS_POSTGRES } from "./support/postgres.ts";
import { startProviderServer } from "./support/provider-server/provider-server.ts";
import { execFile } from "./support/start-process.ts";
import { IN_LONG_FORM, LONG } from "./support/trials.ts";

const run = promisify(execFile);

async function example(
  name: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  stdin = "",
) {
  const command = [...IMPORTS_BUILT_PACKAGE, join("examples", name), ...args];
  const running = run(process.execPath, command, { env });
  running.child.stdin?.end(stdin);
  const { stdout } = await running;
  return stdout;
}

// Takes over two seconds: the example runs twice, each time as a process.
test("an agent with one tool answers, and goes on with its session the next time", async () => {
  const call = { id: "c", name: "parcel_status", args: { number: 42 } };
  const server = await startProviderServer([
    { toolCalls: [call] },
    "Two days late, in Leipzig.",
    "Still in Leipzig.",
  ]);
  const env = {
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: server.urls.openai,
    RKAT_STORE: join(await temporaryFolder(), "rkat.db"),
  };
  const name = "01-agent-with-one-tool.ts";
  expect(await example(name, ["openai/gpt-5.2"], env)).toBe("Two days late, in Leipzig.\n");
  expect(await example(name, ["openai/gpt-5.2", "And now?"], env)).toBe("Still in Leipzig.\n");
  expect(JSON.stringify(server.requests[2]?.body)).toContain("Two days late");
  expect(server.problems).toEqual([]);
  await server.close();
});

// README.md's own program says the same in the short form, and the tests of compaction.
test.skipIf(!LONG)("compaction works alone, on any array of messages", IN_LONG_FORM, async () => {
  const output = await example("02-compact-any-history.ts");
  expect(output).toMatch(/^61 messages, \d+ tokens\n→ \d+ messages, \d+ tokens\n/);
});

test("an agent asks before it acts, and the next session knows of the no", async () => {
  const output = await example("03-learn-from-a-refusal.ts", [], {}, "no, ask Ada first\n");
  expect(output).toBe(
    '1. When you are about to call refund: the user refused this, saying "ask Ada first".\n',
  );
});

// In the short form, test/users.test.ts holds it.
test.skipIf(!LONG)("of two users, one is not told what the other said", IN_LONG_FORM, async () => {
  const output = await example("05-many-users.ts");
  expect(output).toBe("Ada finds 1, Bob finds 0.\nSESSION_NOT_FOUND\n");
});

test("a store of your own keeps the laws, and the page about it shows that code", async () => {
  const name = "04-write-a-store.ts";
  const laws = (await example(name)).trim().split("\n");
  expect(laws).toEqual(sessionStoreLaws.map((law) => `holds: ${law.name}`));
  const page = readFileSync("docs/write-a-store.md", "utf8");
  const program = readFileSync(join("examples", name), "utf8");
  const snippets = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code.trim());
  expect(snippets.filter((code) => !program.includes(code))).toEqual([
    "for (const law of sessionStoreLaws) test(law.name, () => law.holds(open));",
  ]);
});

// In the short form, test/postgres-servers.test.ts has servers on one database.
test.skipIf(!hasPostgres || !LONG)(
  "three servers on one PostgreSQL share a turn",
  LONG ? NEEDS_POSTGRES : IN_LONG_FORM,
  async () => {
    const given = process.env.RKAT_TEST_POSTGRES;
    const store = given === undefined ? undefined : new URL(given);
    store?.searchParams.set("schema", await freshSchema());
    const output = await example("postgres/servers.ts", [], { RKAT_STORE: store?.href });
    const servers = ["/sessions/…/messages", "/sessions/…/events", "/sessions/…?"].map(
      (path) => output.split("\n").find((line) => line.includes(path))?.[7],
    );
    expect(servers.sort()).toEqual(["1", "2", "3"]);
    expect(output).toMatch(/\nAll of them have the answer: It listens on port 4310\.\n$/);
  },
);

test("the same in containers has pinned images, and no secret in a file that git has", () => {
  const compose = readFileSync("examples/postgres/compose.yaml", "utf8");
  const valuesOf = (key: RegExp) =>
    [...compose.matchAll(/^ +(?:- )?(\w+): *(.*)$/gm)].flatMap(([, name = "", value = ""]) =>
      key.test(name) ? [value] : [],
    );
  const images = valuesOf(/^image$/);
  expect(images).toHaveLength(3);
  for (const image of images) expect(image).toMatch(/^\w+:\d+\.\d+[\w.-]*$/);
  // A secret is a mounted file, or it is passed on without a value.
  for (const value of valuesOf(/PASSWORD|TOKEN|KEY/))
    expect(value).toMatch(/^(?:|\/run\/secrets\/.*)$/);
  expect(compose).not.toMatch(/:\/\/\w+:[^@\s]*@|\$\{\w+:?-/);
  const files = [...compose.matchAll(/file: \.\/(.*)/g)].map(([, file]) => file);
  expect(files).toEqual(["secrets/postgres_password", "secrets/rkat_token"]);
  expect(readFileSync(".gitignore", "utf8").split("\n")).toContain("examples/postgres/secrets");
  // The proxy knows every server.
  const servers = [...compose.matchAll(/^ {2}(rkat-\d):/gm)].map(([, name]) => `${name}:8080`);
  const proxy = readFileSync("examples/postgres/Caddyfile", "utf8");
  expect(/reverse_proxy (.*) \{/.exec(proxy)?.[1]?.split(" ")).toEqual(servers);
});

test("every example is run here, those with a framework in test/hosts", () => {
  expect(readdirSync("examples").sort()).toEqual([
    "01-agent-with-one-tool.ts",
    "02-compact-any-history.ts",
    "03-learn-from-a-refusal.ts",
    "04-write-a-store.ts",
    "05-many-users.ts",
    "docker",
    "hosts",
    "postgres",
  ]);
});
