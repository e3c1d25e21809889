import { CONVERSATION_ENTRIES, conversation } from "./conversation.ts";
import { below, oneOf, type Random, randomFrom } from "./random.ts";
import { contentRank, wordOf } from "./vocabulary.ts";

const SEED = 2;

/**
 * The lines of a session of Claude Code, until there are enough bytes. It depends on the number alone.
 *
 * A tenth of the bytes is talk. The rest is tool output, the copy of it that Claude Code keeps beside it, file
 * snapshots, and the fields of each line. Most outputs are short, and most of their bytes are in long ones.
 */
export function* transcriptLines(number: number, bytes: number): Generator<string> {
  const random = randomFrom(SEED * 1_000_003 + number);
  const session = uuid(random);
  const cwd = `/home/ada/${wordOf(number % 50)}`;
  const said = talk(number, bytes);
  let timeMs = Date.UTC(2026, 0, 1, 9) + number * 3_600_000;
  let parentUuid: string | null = null;
  const lineOf = (type: "user" | "assistant", message: object, beside: object = {}) => {
    const id = uuid(random);
    timeMs += 1000 + below(20_000, random);
    const line = {
      parentUuid,
      isSidechain: false,
      userType: "external",
      cwd,
      sessionId: session,
      version: "2.1.0",
      gitBranch: "main",
      type,
      message,
      ...beside,
      uuid: id,
      timestamp: new Date(timeMs).toISOString(),
    };
    parentUuid = id;
    return JSON.stringify(line);
  };
  const answer = (content: object, stop_reason: string) =>
    lineOf(
      "assistant",
      {
        model: "claude-sonnet-4-5-20250929",
        id: `msg_${uuid(random).replaceAll("-", "").slice(0, 24)}`,
        type: "message",
        role: "assistant",
        content: [content],
        stop_reason,
        stop_sequence: null,
        usage: USAGE,
      },
      { requestId: `req_${uuid(random).replaceAll("-", "").slice(0, 24)}` },
    );
  let written = 0;
  const sized = (line: string) => {
    written += line.length + 1;
    return line;
  };
  for (let turn = 0; written < bytes; turn += 1) {
    if (turn % 8 === 0) yield sized(snapshot(session, timeMs, random));
    yield sized(lineOf("user", { role: "user", content: said.next(2) }));
    const calls = below(6, random);
    for (let call = 0; call < calls; call += 1) {
      if (call % 2 === 0) yield sized(answer({ type: "text", text: said.next(3) }, "tool_use"));
      yield* toolLines(answer, lineOf, random, sized);
    }
    yield sized(answer({ type: "text", text: said.next(10) }, "end_turn"));
  }
}

type LineOf = (type: "user" | "assistant", message: object, beside?: object) => string;

function* toolLines(
  answer: (content: object, reason: string) => string,
  lineOf: LineOf,
  random: Random,
  sized: (line: string) => string,
): Generator<string> {
  const id = `toolu_${uuid(random).replaceAll("-", "").slice(0, 24)}`;
  const file = code(1 + below(oneOf([20, 40, 100, 400], random), random), random);
  const filePath = `/home/ada/app/src/${name(random)}/${name(random)}.ts`;
  const result = (content: string, toolUseResult: object) =>
    lineOf(
      "user",
      { role: "user", content: [{ tool_use_id: id, type: "tool_result", content }] },
      { toolUseResult },
    );
  if (below(2, random) === 0) {
    const input = { file_path: filePath };
    yield sized(answer({ type: "tool_use", id, name: "Read", input }, "tool_use"));
    const numbered = file.map((line, at) => `${String(at + 1).padStart(6)}→${line}`).join("\n");
    const content = file.join("\n");
    const lines = { numLines: file.length, startLine: 1, totalLines: file.length };
    yield sized(result(numbered, { type: "text", file: { filePath, content, ...lines } }));
    return;
  }
  const command = `npx vitest run src/${name(random)}.test.ts`;
  const input = { command, description: "Run the tests" };
  yield sized(answer({ type: "tool_use", id, name: "Bash", input }, "tool_use"));
  const stdout = file.map((line, at) => `✓ ${at} ${line.trim()} ${below(90, random)}ms`).join("\n");
  yield sized(result(stdout, { stdout, stderr: "", interrupted: false, isImage: false }));
}

function snapshot(messageId: string, timeMs: number, random: Random): string {
  const backups = Array.from({ length: 6 + below(10, random) }, () => [
    `src/${name(random)}/${name(random)}.ts`,
    { backupFileName: `${uuid(random)}@v1`, version: 1, backupTime: new Date(timeMs) },
  ]);
  const trackedFileBackups = Object.fromEntries(backups);
  const found = { messageId, trackedFileBackups, timestamp: new Date(timeMs) };
  return JSON.stringify({ type: "file-history-snapshot", messageId, snapshot: found });
}

/** What people said to each other, some messages at a time. */
function talk(number: number, bytes: number) {
  // About as much as the session needs, so that no two share their texts.
  const conversations = 1 + Math.ceil(bytes / 4 / (CONVERSATION_ENTRIES * 100));
  let made = number * conversations;
  let texts: string[] = [];
  return {
    next(count: number): string {
      if (texts.length < count) {
        texts = conversation(made, SEED).entries.map(({ content }) => content);
        made += 1;
      }
      return texts.splice(0, count).join("\n\n");
    },
  };
}

/** A file has names of its own, which come again and again. */
function code(lines: number, random: Random): string[] {
  const names = Array.from({ length: 8 + Math.floor(lines / 5) }, () => name(random));
  return Array.from({ length: lines }, () => {
    const [one, two, three] = [1, 2, 3].map(() => oneOf(names, random));
    return oneOf(
      [
        `export function ${one}(${two}: string): ${three} {`,
        `  const ${one} = ${two}.${three}("${one}");`,
        `  if (${one} === undefined || ${two}.length > ${below(500, random)}) return ${three};`,
        `import { ${one}, ${two} } from "../${three}.ts";`,
        `    await this.#${one}.${two}(${three}, { limit: ${below(100, random)} });`,
        "  }",
        "",
      ],
      random,
    );
  });
}

function name(random: Random): string {
  const [one, two = ""] = [wordOf(contentRank(random)), wordOf(contentRank(random))];
  return `${one}${two.charAt(0).toUpperCase()}${two.slice(1)}`;
}

const USAGE = {
  input_tokens: 4,
  cache_creation_input_tokens: 1520,
  cache_read_input_tokens: 41_202,
  output_tokens: 210,
  service_tier: "standard",
};

function uuid(random: Random): string {
  const digits = Array.from({ length: 32 }, () => below(16, random).toString(16)).join("");
  return [8, 12, 16, 20, 32].map((end, at) => digits.slice([0, 8, 12, 16, 20][at], end)).join("-");
}
