import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Operation as Described } from "../src/core/operations/operation.ts";
import { OPERATIONS, type OperationName } from "../src/core/operations.ts";
import {
  type Capability,
  createSessionService,
  type ErrorCode,
  SessionError,
} from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { SimpleMemoryStore } from "../src/stores/ephemeral/simple-memory-store.ts";
import { BUILDS, scriptedModel } from "../src/testing.ts";
import { requestsFor } from "./support/ask-everything.ts";
import { temporaryFolder } from "./support/obey.ts";
import { sampled } from "./support/trials.ts";

type Request = Readonly<Record<string, unknown>>;
type Operation = (request: Request) => Promise<unknown>;

/** The codes by which a service without a capability refuses. */
const CODE_OF: Readonly<Record<Capability, ErrorCode>> = {
  "session-store": "SESSION_PERSISTENCE_DISABLED",
  "memory-store": "SESSION_MEMORY_DISABLED",
  "session-compaction": "SESSION_COMPACTION_DISABLED",
};

// The page says the same of all of them.
test.each(sampled(Object.keys(BUILDS), { of: 3, at: 1 }, "cases"))(
  "build %s refuses what needs a capability it lacks",
  async (build) => {
    const capabilities = BUILDS[build] ?? [];
    const { codes } = await answersOf(capabilities);
    for (const [index, { needs, learns }] of Object.values<Described>(OPERATIONS).entries()) {
      const [, name] = QUESTIONS[index] ?? [];
      const code = codes[index];
      if (needs && !capabilities.includes(needs)) {
        expect([CODE_OF[needs], "SESSION_KNOWLEDGE_DISABLED"], name).toContain(code);
      } else if (!learns) expect(code, name).toBeUndefined();
    }
  },
);

/** What each row of the page asks of a service that has one session with one turn. */
const QUESTIONS: readonly (readonly [row: string, operation: string, request: Request])[] = [
  ...Object.keys(OPERATIONS).map((operation) => [`\`${operation}\``, operation, {}] as const),
  ["`createSession({ memory: true })`", "createSession", { memory: true }],
  ["`createSession({ knowledge: true })`", "createSession", { knowledge: true }],
  [
    "`createSession({ compaction })`",
    "createSession",
    { compaction: { autoCompactThreshold: 9000 } },
  ],
];

// Takes over two seconds: every operation is asked of every build.
test("docs/capabilities.md says what each build answers; `npm run docs` writes it", async () => {
  const names = Object.keys(BUILDS);
  const answers = await Promise.all(
    names.map(async (build) => await answersOf(BUILDS[build] ?? [])),
  );
  const rows = new Map<string, string[]>();
  const addRow = (label: string, has: readonly boolean[], code = "") => {
    const cells = `${has.map((each) => (each ? "✓" : "–")).join(" | ")} | ${code}`;
    rows.set(cells, [...(rows.get(cells) ?? []), label]);
  };
  for (const [index, [label]] of QUESTIONS.entries()) {
    const codes = answers.map((of) => of.codes[index]);
    const code = codes.find((each) => each !== undefined);
    addRow(
      label,
      codes.map((each) => each === undefined),
      code && `\`${code}\``,
    );
  }
  for (const tool of new Set(answers.flatMap((of) => [...of.tools]))) {
    addRow(
      `tool \`${tool}\``,
      answers.map((of) => of.tools.has(tool)),
    );
  }
  const table = [
    `| | ${names.join(" | ")} | otherwise |`,
    `|---|${names.map(() => ":-:|").join("")}---|`,
    ...[...rows].map(([cells, labels]) => `| ${labels.join(", ")} | ${cells} |`),
  ].join("\n");
  const page = await readFile("docs/capabilities.md", "utf8");
  const written = page.replace(/^\| \| A \|.*\n(?:\|.*\n)*/m, () => `${table}\n`);
  expect(written).toContain(table);
  await expect(written).toMatchFileSnapshot("../docs/capabilities.md");
});

/** Names of what is not there. */
const KNOWN = {
  message: 1,
  approvalId: "unknown",
  knowledgeId: "unknown",
  memoryId: "unknown",
  words: "fox",
};

interface Answers {
  /** Per question: the code of a missing capability, or nothing. */
  readonly codes: readonly (ErrorCode | undefined)[];
  readonly tools: ReadonlySet<string>;
}

async function answersOf(capabilities: readonly Capability[]): Promise<Answers> {
  const has = (capability: Capability) => capabilities.includes(capability);
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const tools = new Set<string>();
  const service = createSessionService({
    model: scriptedModel((request) => {
      for (const { name } of request.tools) tools.add(name);
      return "ok";
    }),
    ...(has("session-store") ? { stores } : {}),
    ...(has("memory-store")
      ? has("session-store")
        ? {}
        : { memory: new SimpleMemoryStore() }
      : { memory: false }),
    ...(has("session-compaction") ? { compaction: {} } : {}),
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  const codes: (ErrorCode | undefined)[] = [];
  for (const [, operation, request] of QUESTIONS) {
    const { sessionId } = await service.createSession({ systemPrompt: "Be brief." });
    await service.startTurn({ sessionId, prompt: "hi" });
    const [usual] = requestsFor(operation as OperationName, { ...KNOWN, sessionId });
    const asked = { ...usual, ...request };
    const ask = service[operation as keyof typeof service] as unknown as Operation;
    codes.push(await ask.call(service, asked).then(() => undefined, missing));
  }
  return { codes, tools };
}

/** The code of a missing capability. Another failure, such as an unknown id, is an answer. */
function missing(error: unknown): ErrorCode | undefined {
  if (!SessionError.is(error) || error.code === "INVALID_PARAMS") throw error;
  return error.code.endsWith("_DISABLED") ? error.code : undefined;
}
