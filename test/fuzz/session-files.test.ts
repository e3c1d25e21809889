import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect } from "vitest";
import type { PositionedEvent } from "../../src/core/event-store.ts";
import { createSessionService } from "../../src/index.ts";
import {
  foldSessionFile,
  readCheckpoint,
  readIndex,
  readSessionFile,
} from "../../src/projections/session-file.ts";
import { SessionFiles } from "../../src/projections/session-files.ts";
import { EphemeralEventStore } from "../../src/stores/ephemeral/ephemeral-event-store.ts";
import { EphemeralSessionStore } from "../../src/stores/ephemeral/ephemeral-session-store.ts";
import { scriptedModel } from "../../src/testing.ts";
import { damagedJson, damagedText, fuzz, readOrRefused } from "../support/fuzz.ts";

const folder = mkdtempSync(join(tmpdir(), "rkat-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const events = new EphemeralEventStore();
const service = createSessionService({
  model: scriptedModel((_, call) => `Answer ${call}.`),
  stores: { events, sessions: new EphemeralSessionStore() },
  builtinTools: false,
});
for (const labels of [{ name: "one" }, {}]) {
  const { sessionId } = await service.createSession({ labels });
  for (const prompt of ["One.", "Two."]) await service.startTurn({ sessionId, prompt });
}
await service.close();
const log = await events.readAll(0, 1000);

async function project(files: SessionFiles, until: readonly PositionedEvent[]): Promise<void> {
  const position = await files.position();
  await files.apply(until.filter((event) => event.position > position));
}

const [half, whole] = [join(folder, "half"), join(folder, "whole")];
await project(new SessionFiles(events, half), log.slice(0, -3));
await project(new SessionFiles(events, whole), log);

function filesIn(place: string): Record<string, string> {
  const found = readdirSync(place, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  return Object.fromEntries(
    files
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path.slice(place.length + 1), readFileSync(path, "utf8")]),
  );
}

const written = filesIn(half);
const damage = fc.constantFrom(...Object.keys(written)).chain((name) => {
  const text = written[name] ?? "";
  const json = name.endsWith("events.jsonl")
    ? []
    : [damagedJson(text.trim().split("\n").map(parsed))];
  const lines = json.map((all) =>
    all.map(
      (values) =>
        `${[values]
          .flat()
          .map((value) => JSON.stringify(value))
          .join("\n")}\n`,
    ),
  );
  return fc.record({ name: fc.constant(name), text: fc.oneof(damagedText([text]), ...lines) });
});

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
}

fuzz(
  "damaged files of sessions are mended, or written again from the log when that is asked for",
  fc.array(damage, { minLength: 1, maxLength: 2 }),
  { short: 20, long: 10_000 },
  async (all) => {
    const place = join(folder, "damaged");
    rmSync(place, { recursive: true, force: true });
    cpSync(half, place, { recursive: true });
    for (const { name, text } of all) writeFileSync(join(place, name), text);
    await readOrRefused(() => project(new SessionFiles(events, place), log));
    const again = new SessionFiles(events, place);
    await again.startAgain();
    await project(again, log);
    expect(filesIn(place)).toEqual(filesIn(whole));
  },
);

const [sessionId = ""] = log.map((event) => event.sessionId);
const sessionText = written[join(sessionId, "session.json")] ?? "";
const texts = Object.entries(written)
  .filter(([name]) => !name.endsWith(".jsonl") || name === "index.jsonl")
  .map(([, text]) => text);

fuzz(
  "a damaged text of a session's files is read as one that could have been written, or not at all",
  fc.oneof(
    damagedText(texts),
    damagedJson([parsed(sessionText)]).map((value) => JSON.stringify(value) ?? ""),
  ),
  { short: 40, long: 1_000_000 },
  (text) => {
    const file = readSessionFile(text, sessionId);
    if (file) {
      const folded = log.reduce((before, { stored }) => foldSessionFile(before, stored), file);
      expect(Number.isSafeInteger(folded.usage.input_tokens)).toBe(true);
      expect(folded.seq).toBe(log.at(-1)?.stored.seq);
    }
    const checkpoint = readCheckpoint(text);
    if (checkpoint) expect(Object.values(checkpoint).every(Number.isSafeInteger)).toBe(true);
    const lines = readIndex(text);
    expect(text.startsWith(lines.map(({ line }) => `${line}\n`).join(""))).toBe(true);
    expect(lines.every((line) => typeof line.sessionId === "string")).toBe(true);
  },
);
