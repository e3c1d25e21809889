import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { SessionError } from "../../src/core/errors.ts";
import { OPERATIONS, type OperationName } from "../../src/core/operations.ts";
import { createSessionService, type SessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { ClaudeLines } from "../support/claude-lines.ts";
import { Project } from "../support/rkat-process.ts";
import { type Schema, valuesOf } from "../support/schema-values.ts";
import { overJsonRpc, overMcp, overRest } from "../support/surfaces.ts";
import { trials } from "../support/trials.ts";

const ESCAPES = "\u001b]0;yours\u0007\u001b[2J";
const NAMES: readonly string[] = [
  ...[
    ESCAPES,
    "\u009b2J",
    "a\0b",
    "a\r\nX-Injected: 1",
    "\u202Egnp.exe",
    "\u2066a\u2069",
    "\u200b",
  ],
  ...["..", "../../../etc/passwd", "a/b", "%2f", "%2e%2e%2f", "%00", "..\\..\\x", "C:\\x", "~"],
  ...[
    "__proto__",
    "constructor",
    "toString",
    "\ud800",
    "x".repeat(100_000),
    "'; drop table event; --",
  ],
];

const SHOWS_CONTROLS = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069\u200b]/u;

type Place = readonly [owner: Record<string, unknown>, key: string];

/** Where a request has a text. */
function textsIn(value: unknown): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const owner = value as Record<string, unknown>;
  return Object.keys(owner).flatMap((key): Place[] =>
    typeof owner[key] === "string" ? [[owner, key]] : textsIn(owner[key]),
  );
}

/** Requests of an operation in which some texts are hostile names. */
function requestsOf(name: OperationName): fc.Arbitrary<object> {
  const schema = z.toJSONSchema(OPERATIONS[name].request, { io: "input", unrepresentable: "any" });
  const changes = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...NAMES)), {
    minLength: 1,
    maxLength: 3,
  });
  return fc.tuple(valuesOf(schema as Schema), changes).map(([value, all]) => {
    const request = structuredClone(value) as object;
    for (const [at, text] of all) {
      const places = textsIn(request);
      const [owner, key] = places[at % (places.length || 1)] ?? [];
      if (owner && key !== undefined) owner[key] = text;
    }
    return request;
  });
}

const calls = fc
  .constantFrom(...(Object.keys(OPERATIONS) as OperationName[]))
  .chain((name) => fc.tuple(fc.constant(name), requestsOf(name)));

function opened() {
  const stores = sqliteStores({ path: ":memory:" });
  const service = createSessionService({
    stores,
    model: scriptedModel(() => "ok"),
    models: async (id) => scriptedModel(() => "ok", { id }),
    compaction: {},
  });
  const close = async () => {
    await service.close();
    await stores.close();
  };
  return { service, close };
}

const SURFACES: Readonly<Record<string, () => Promise<SessionService> | SessionService>> = {
  REST: () => overRest(opened()),
  "JSON-RPC": () => overJsonRpc(opened()),
  MCP: () => overMcp(opened(), "modern"),
};

describe.each(Object.entries(SURFACES))("over %s", (_, open) => {
  test("a hostile name is refused in few words that can be shown, or taken as any other name", async () => {
    const service = await open();
    const { sessionId } = await service.createSession({});
    const property = fc.asyncProperty(calls, fc.boolean(), async ([name, request], isKnown) => {
      const call = service[name] as (request: object) => Promise<unknown>;
      try {
        const done = call(isKnown && "sessionId" in request ? { ...request, sessionId } : request);
        await done;
      } catch (error) {
        if (!SessionError.is(error)) throw error;
        expect(error.code, error.message).not.toBe("INTERNAL_ERROR");
        expect(error.message).not.toMatch(SHOWS_CONTROLS);
        expect(error.message.length).toBeLessThan(10_000);
      }
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    });
    await fc.assert(property, { numRuns: trials(20, 20_000) });
    const { sessionId: next } = await service.createSession({});
    expect((await service.read({ sessionId: next })).sessionId).toBe(next);
  }, 600_000);
});

test("no command draws a name on the terminal, or calls it a bug", async () => {
  const project = await Project.open();
  const commands = [...new Set(Object.values(OPERATIONS).map(({ command }) => command))];
  // The command line ends at a byte of zero, and a prompt needs a model.
  const names = NAMES.filter((name) => !name.includes("\0") && name.length < 1_000);
  let at = 0;
  for (const command of commands) {
    for (let count = 0; count < trials(2, names.length); count += 1) {
      const name = names[at % names.length] as string;
      at += 1;
      const args =
        at % 3 === 0 ? ["--user", name, ...command.split(" "), "x"] : [...command.split(" "), name];
      const { code, stdout, stderr } = await project.rkat(args);
      const said = `${args.join(" ").slice(0, 200)}: ${stdout}${stderr}`;
      expect(code, said).not.toBeNull();
      expect(stdout + stderr, said).not.toMatch(SHOWS_CONTROLS);
      expect(stdout + stderr, said).not.toContain("This is a bug");
    }
  }
}, 600_000);

test.each([["\u202egnp.exe"], ["a\u200bb"], ["\u001b[2J"], ["a\u2066b\u2069"]])(
  "an import leaves out a session whose id has hidden characters, and says so (%j)",
  async (id) => {
    const project = await Project.open();
    const folder = ".claude/projects/-project";
    const good = "0f3c2b1a-1111-4222-8333-444455556666";
    project.write(
      `${folder}/${id}.jsonl`,
      String(new ClaudeLines(id).user("What is hidden here?")),
    );
    project.write(`${folder}/${good}.jsonl`, String(new ClaudeLines(good).user("And here?")));
    const { code, stdout, stderr } = await project.rkat([
      "import",
      "claude-code",
      ".claude",
      "--yes",
    ]);
    expect([code, stdout + stderr]).toEqual([
      0,
      expect.stringContaining("Added 1 message of 1 session."),
    ]);
    expect(stdout + stderr).toContain("the id of a session has hidden characters");
    expect(stdout + stderr).not.toMatch(SHOWS_CONTROLS);
    const { stdout: listed } = await project.rkat(["memory", "list", "--scope", "all"]);
    expect(listed).not.toContain("What is hidden here?");
    expect(listed).not.toMatch(SHOWS_CONTROLS);
  },
);
