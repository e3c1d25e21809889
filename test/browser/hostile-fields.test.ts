import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { rkatSession } from "../../src/openai-agents.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { RKAT } from "../support/built-package.ts";
import { ClaudeLines } from "../support/claude-lines.ts";
import type { Project } from "../support/rkat-process.ts";
import { scriptedService } from "../support/scripted-service.ts";
import { execFileSync } from "../support/start-process.ts";
import { MISSING, newPage, TEST_MS } from "./browser.ts";
import { COMPACTING, shareForGroup } from "./inspected-project.ts";

/** A text that would hide, run and send something, and has half a character. */
const bad = (name: string) =>
  `${name}\u202Eg\u202C\u001b[31m\u009b2J\u0000\ud800\u2028\u200b<script>window.hacked=1</script>"><img src="https://evil.example/" onerror="window.hacked=2">javascript:window.hacked=3</script> end`;

/** What no view may have in it: characters that nobody sees, or that turn a line around. */
const UNSEEN = String.raw`(?![\n\t])\p{Cc}|[\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069]`;

const CLAUDES = "0f3c2b1a-2222-4222-8333-444455556666";
const LONG_TEXT = "The quick brown fox considers the merits of jumping over it. ".repeat(60);

/** Returns the session that was compacted. */
async function fill(project: Project): Promise<string> {
  const stores = sqliteStores({ path: join(project.folder, ".rkat", "rkat.db") });
  const setup = {
    ...COMPACTING,
    approvals: { timeoutMs: 1 },
    replies: [
      {
        reasoning: bad("reasoning"),
        text: bad("answer"),
        toolCalls: [
          { id: "a", name: "memory_search", args: { query: bad("query"), [bad("key")]: 1 } },
          {
            id: "b",
            name: bad("tool"),
            args: { path: bad("p"), old_string: "1", new_string: "2" },
          },
          { id: "c", name: "x".repeat(300), args: { content: "y".repeat(200_000) } },
        ],
      },
      { text: `${bad("second")} ${LONG_TEXT}`, usage: { input_tokens: 2100 } },
      { text: LONG_TEXT, usage: { input_tokens: 2600 } },
      { text: LONG_TEXT, usage: { input_tokens: 2600 } },
      { text: LONG_TEXT, usage: { input_tokens: 2600 } },
      { toolCalls: [{ id: "w", name: "memory_search", args: { query: bad("waits") } }] },
    ],
  } as const;
  const { service, close } = scriptedService(project.folder, setup, stores);
  const { sessionId } = await service.createSession({
    labels: { [bad("l").slice(0, 90)]: bad("v") },
    systemPrompt: bad("system"),
    source: {
      agent: bad("agent").slice(0, 100),
      nativeId: "native",
      project: `/home/${bad("project")}`,
      branch: bad("branch"),
      title: bad("title"),
      model: bad("model"),
    },
  });
  const prompts = [bad("Never use npm"), "Who owns it?", "The fox?", "The dog?", "Which npm?"];
  // The name of a class of the page, as a name of a person.
  const origin = { author: "user", speaker: "unseen" } as const;
  for (const prompt of prompts) await service.startTurn({ sessionId, prompt, origin });
  const { sessionId: waiting } = await service.createSession({
    approvals: { memory_search: "ask" },
  });
  await service.startTurn({ sessionId: waiting, prompt: bad("Look.") });
  const { sessionId: blank } = await service.createSession({
    source: { agent: "x".repeat(100), nativeId: "blank", title: " \n".repeat(300) },
  });
  const content = `${" \n".repeat(400)}It begins late.`;
  await service.appendMessages({ sessionId: blank, messages: [{ role: "user", content }] });
  await service.addKnowledge({ content: `${bad("Always use yarn")}.` });
  await service.addMemory({ content: bad("note") });
  const chat = rkatSession({ stores, sessionId: bad("chat") });
  await chat.addItems([{ role: "user", content: bad("hello") }]);
  await chat.close();
  await close();
  const lines = new ClaudeLines(CLAUDES)
    .user(bad("imported"))
    .call("b", "t", bad("Bash"), { command: bad("cat") })
    .result("t", bad("result"));
  const file = project.write(`${CLAUDES}.jsonl`, String(lines));
  const args = [RKAT, "import", "claude-code", file, "--scope", "project", "--yes"];
  execFileSync(process.execPath, args, { cwd: project.folder, env: project.env, stdio: "ignore" });
  return sessionId;
}

describe.skipIf(MISSING)(
  `hostile texts on the page${MISSING ? ` (${MISSING})` : ""}`,
  { timeout: TEST_MS },
  () => {
    const shared = shareForGroup(fill);

    // It goes through all views of all sessions.
    test("no field of any view runs, hides, sends or breaks anything", async () => {
      const page = await newPage(shared.browser, { viewport: { width: 320, height: 700 } });
      const asked: string[] = [];
      const said: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      page.on("console", (message) => said.push(message.text()));
      page.on("pageerror", (error) => said.push(error.message));
      await page.goto(shared.link);
      const rows = page.locator("a.session");
      await page.getByText("5 sessions").waitFor();
      await rows.nth(4).waitFor();
      const places = await rows.evaluateAll((links) =>
        links.flatMap((link) => {
          const to = link.getAttribute("href") ?? "";
          return ["transcript", "context", "compactions", "recalled"].map((part) =>
            to.replace(/transcript$/, part),
          );
        }),
      );
      const views = ["memory", "knowledge", "approvals", "health"].map((name) => `#/${name}`);
      const question = `#/recall?q=${encodeURIComponent("npm <script>window.hacked=4</script>")}`;
      for (const place of ["#/sessions", ...places, ...views, question]) {
        await page.evaluate((to) => {
          location.hash = to;
        }, place);
        await page.locator("h1").filter({ hasText: /\S/ }).waitFor();
        await settled(page);
        await openAll(page);
        expect(await faults(page), place).toEqual([]);
      }
      await page.evaluate(() => {
        location.hash = "#/sessions";
      });
      await page.getByRole("searchbox").fill("<script>window.hacked=5</script> npm");
      await settled(page);
      expect(await faults(page)).toEqual([]);
      const { origin } = new URL(shared.link);
      expect(asked.filter((url) => !url.startsWith(`${origin}/`))).toEqual([]);
      expect(said).toEqual([]);
      expect(await page.evaluate(() => Reflect.get(window, "hacked"))).toBe(undefined);
    });

    test("a speaker with the name of a class of the page is seen, with the letters of the name", async () => {
      const page = await newPage(shared.browser);
      await page.goto(shared.link.replace("#", `#session=${shared.made}&`));
      await page.getByRole("link", { name: "Recalled" }).click();
      await page.getByRole("heading", { name: "Came back by itself" }).first().waitFor();
      const speaker = page.locator(".badge").getByText("unseen", { exact: true }).first();
      expect((await speaker.boundingBox())?.width).toBeGreaterThan(20);
    });
  },
);

/** Opens whatever can be opened. */
async function openAll(page: Page): Promise<void> {
  const closed = page.locator("main :is(summary, button.fold[aria-expanded=false], .trace-of)");
  for (const one of (await closed.all()).slice(0, 12)) {
    await one.click({ timeout: 1000 }).catch(() => {});
  }
  await settled(page);
}

/** Waits until nothing is asked for, and what came is drawn. */
async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () => {
      const asked = performance.getEntriesByType("resource").length;
      const { seen, since } = Reflect.get(window, "looked") ?? { seen: -1, since: 0 };
      if (asked !== seen) {
        Reflect.set(window, "looked", { seen: asked, since: performance.now() });
        return false;
      }
      return performance.now() - since > 250;
    },
    undefined,
    { polling: 50 },
  );
}

/** What is wrong with what a page shows now. */
async function faults(page: Page): Promise<readonly string[]> {
  return await page.evaluate((unseen) => {
    const hides = new RegExp(unseen, "u");
    const found: string[] = [];
    for (const element of document.body.querySelectorAll("*")) {
      const name = `${element.tagName} ${element.className}`.slice(0, 40);
      const words = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
      for (const { textContent } of words)
        if (hides.test(textContent ?? "")) found.push(`${name} has ${textContent?.slice(0, 60)}`);
      for (const attribute of ["aria-label", "title", "placeholder", "class"])
        if (hides.test(element.getAttribute(attribute) ?? "")) found.push(`${name}: ${attribute}`);
      if (/^(A|BUTTON|H\d|TH)$/.test(element.tagName) && !element.textContent?.trim())
        if (!element.getAttribute("aria-label")) found.push(`${name} has no name`);
    }
    const { scrollWidth, scrollHeight } = document.documentElement;
    if (scrollWidth > innerWidth) found.push(`it is ${scrollWidth} wide`);
    if (scrollHeight > 2 * innerHeight) found.push(`it is ${scrollHeight} high`);
    const made = "main img, main script, main a[href^='javascript']";
    if (document.querySelector(made)) found.push("a text became an element");
    return [...new Set(found)];
  }, UNSEEN);
}
