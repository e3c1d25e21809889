import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContext, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createSessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { Project } from "../support/rkat-process.ts";
import { IN_LONG_FORM, LONG, sampled } from "../support/trials.ts";
import { AXE, launch, MISSING, newPage, TEST_MS } from "./browser.ts";
import { EVENTS, fill, HOSTILE, type Inspected, inspect, SECRET } from "./inspected-project.ts";

/** Of the scripted model. */
const PRICES = `[prices."scripted"]\ninput = 3\noutput = 15\n`;

/** One that the short form leaves out: what the page asks for there, the laws of REST and the tests of each operation hold. */
const more = (name: string, body: () => Promise<void>) =>
  test.skipIf(!LONG)(name, IN_LONG_FORM, body);

/** One more than may be live, or some. */
const TABS = LONG ? 8 : 5;

const TITLE = `the page in a browser${MISSING ? ` (${MISSING})` : ""}`;

/** Everything is asked of one page for people; a browser and a server are started once. */
// Most take over two seconds: after each step a browser asks, and draws the page again.
describe.skipIf(MISSING)(TITLE, { timeout: TEST_MS }, () => {
  let browser: Browser;
  let reading: { readonly link: string; end(): void };
  let writing: { readonly link: string; end(): void };
  let made: Inspected;
  let project: Project;
  const root = mkdtempSync(join(tmpdir(), "rkat-browser-"));

  beforeAll(async () => {
    project = await Project.open({ root, config: PRICES });
    made = await fill(project);
    [browser, reading, writing] = await Promise.all([
      launch(),
      inspect(project, []),
      inspect(project, ["--write"]),
    ]);
  }, 120_000);

  afterAll(async () => {
    reading?.end();
    writing?.end();
    await browser?.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });

  /** A page, what it asked for, and what it complained about. */
  async function open(
    link: string,
    options: Parameters<Browser["newContext"]>[0] = {},
  ): Promise<{ page: Page; context: BrowserContext; asked: string[]; said: string[] }> {
    const page = await newPage(browser, options);
    const asked: string[] = [];
    const said: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("console", (message) => said.push(message.text()));
    page.on("pageerror", (error) => said.push(error.message));
    await page.goto(link);
    await page.getByRole("heading", { level: 1 }).waitFor();
    return { page, context: page.context(), asked, said };
  }

  const at = (link: string, place: string) => link.replace("#", `#session=${place}&`);

  /** Goes to a view. What is typed before it is there goes into the view before. */
  const show = async (page: Page, name: string) => {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name }).click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  };

  const part = (page: Page, name: string) =>
    page
      .getByRole("navigation", { name: "Parts of the session" })
      .getByRole("link", { name })
      .click();

  const row = (page: Page, text: string) =>
    page.getByRole("article").filter({ hasText: text }).first();

  /** Runs a command, which has to succeed. */
  async function done(command: readonly string[]): Promise<void> {
    const { code, stderr } = await project.rkat(command);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
  }

  /** Moves the keyboard on until it is in what has this name. */
  async function tabTo(page: Page, name: RegExp, key = "Tab"): Promise<void> {
    for (let tries = 0; tries < 80; tries += 1) {
      await page.keyboard.press(key);
      const text = await page.evaluate(() => {
        const { activeElement: active } = document;
        return active?.getAttribute("aria-label") ?? active?.textContent ?? "";
      });
      if (name.test(text)) return;
    }
    throw new Error(`Nothing with the name ${name} can be reached.`);
  }

  test("a name is looked for in all sessions, and words that no name has get the whole width", async () => {
    const many = await Project.open({ root: join(root, "many") });
    const stores = sqliteStores({ path: join(many.folder, ".rkat", "rkat.db") });
    const service = createSessionService({ model: scriptedModel([]), stores });
    const messages = [{ role: "user" as const, content: "The harbour is closed." }];
    await service.createSession({ labels: { customer: "oldest" }, messages });
    for (let others = 0; others < 201; others += 1) await service.createSession({});
    await service.close();
    await stores.close();
    const { link, end } = await inspect(many, []);
    onTestFinished(end);
    const { page, said } = await open(link);
    await page.getByText("200 and more sessions").waitFor();
    await page.getByRole("searchbox").fill("oldest");
    await page.getByText("1 session", { exact: true }).waitFor();
    await page.getByText("The harbour is closed.").waitFor();
    await page.getByRole("searchbox").fill("harbour");
    const hits = page.getByRole("region", { name: "Said in sessions" });
    await hits.getByText("The harbour is closed.").waitFor();
    const { width = 0 } = (await hits.boundingBox()) ?? {};
    const { width: all = 0 } = (await hits.locator("..").boundingBox()) ?? {};
    expect([said, width]).toEqual([[], all]);
  });

  test("the link's token leaves the address, no request leaves the machine, and nothing breaks a rule of the page", async () => {
    const { page, asked, said } = await open(reading.link);
    const token = new URLSearchParams(new URL(reading.link).hash.slice(1)).get("token") ?? "";
    expect(page.url()).not.toContain(token);
    await page.reload();
    await page.locator("a.session").first().waitFor();
    for (const name of ["Recall", "Memory", "Knowledge", "Approvals", "Health"]) {
      await show(page, name);
    }
    const { origin } = new URL(reading.link);
    expect(asked.filter((url) => !url.startsWith(`${origin}/`))).toEqual([]);
    expect(asked.filter((url) => url.includes(token))).toEqual([]);
    expect(said).toEqual([]);
  });

  test("without a token it asks for one, and says when it is wrong", async () => {
    const { page } = await open(new URL("/", reading.link).href);
    await page.getByLabel("Token").fill("not-the-token");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("This token is not the server's.").waitFor();
  });

  test("a transcript has words, joined calls, a change, and the words of people alone", async () => {
    const { page } = await open(at(reading.link, made.talk));
    await row(page, "On which port does staging listen?").waitFor();
    await page.getByRole("button", { name: /edit_file/ }).click();
    await page.getByText("removed: port 80").waitFor();
    await page.getByText("added: port 7443").waitFor();
    await page.getByLabel("Show").selectOption("words");
    await row(page, "Who owns the parcel index?").waitFor();
    expect(await page.getByRole("button", { name: /edit_file/ }).count()).toBe(0);
    await page.getByLabel("Find in this session").fill("which port was it");
    await page.getByText("1 of").waitFor();
  });

  test("the context view says where tokens go, and the compaction view where each message is", async () => {
    const { page } = await open(at(reading.link, made.talk));
    await part(page, "Context");
    await page.getByRole("img", { name: /Tokens of \d+ requests, with [1-9]/ }).waitFor();
    await page.getByRole("row", { name: /Tool definitions/ }).waitFor();
    await part(page, "Compactions");
    await page.getByRole("heading", { name: /^Before: / }).waitFor();
    await row(page, "Kept word for word").waitFor();
    await row(page, "Left; ").waitFor();
    await page.getByRole("heading", { name: "The summary" }).waitFor();
    await page.getByText("Where does this come from?").click();
    await page.getByText(/^It rests on [1-9]\d* messages:$/).waitFor();
    await page.getByRole("listitem").filter({ hasText: "On which port does staging" }).waitFor();
    await page.getByRole("navigation", { name: "Compactions" }).getByRole("link").first().click();
    const quoted = row(page, "On which port does staging listen?");
    await quoted.getByRole("button", { name: "Mark it in the summary" }).click();
    await page
      .locator("mark")
      .filter({ hasText: "On which port does staging listen?" })
      .first()
      .waitFor();
    const [, event] = /(\d+)$/.exec((await quoted.getByRole("link").textContent()) ?? "") ?? [];
    await page.locator(`a.part-of[title$="event ${event}"]`).first().click();
    await page.locator(".row.marked").getByText("On which port does staging listen?").waitFor();
  });

  more("a record, an entry and a rule each lead to the messages that they rest on", async () => {
    const { page } = await open(at(reading.link, made.talk));
    await part(page, "Recalled");
    const drill = async (inside: ReturnType<Page["locator"]>) => {
      await inside.getByText("Where does this come from?").first().click();
      await inside
        .getByRole("link", { name: /^Event \d+$/ })
        .first()
        .waitFor();
    };
    await drill(page.getByRole("region", { name: "And which port was it?" }));
    await show(page, "Memory");
    const entry = page.getByRole("listitem").filter({ hasText: "Tell me of the fox." });
    await drill(entry.first());
    await show(page, "Knowledge");
    await page.getByLabel("Kind").selectOption("rule");
    const rule = page.getByRole("article").filter({ hasText: "Never guess it" }).first();
    await rule.getByText("Where does this come from?").click();
    await rule.getByText("It was made from:").waitFor();
    await rule
      .getByRole("link", { name: /^Event \d+$/ })
      .first()
      .click();
    await page.locator(".row.marked").getByText("Never guess it.").waitFor();
  });

  more(
    "of an imported session, each compaction of its agent says what that dropped, and where it is here",
    async () => {
      const { page } = await open(at(reading.link, made.imported));
      await row(page, "The agent that had this session compacted its window here.")
        .getByRole("link", { name: "What it dropped" })
        .click();
      await row(page, "Staging listens on port 9443.")
        .getByText("Its summary has all of it")
        .waitFor();
      const named = row(page, "I look into src/ports.ts first.");
      await named.getByText("The summary has: src/ports.ts").waitFor();
      await row(page, "The kettle is broken.").getByText("Dropped; memory finds it here").waitFor();
      await page.getByLabel("Messages", { exact: true }).selectOption("in_log");
      await row(page, "retry_budget").waitFor();
      expect(await page.getByText("The kettle is broken.").count()).toBe(0);
      await page.getByLabel("Messages", { exact: true }).selectOption("");
      await named.getByRole("button", { name: "Mark it in the summary" }).click();
      await page.locator("mark").getByText("src/ports.ts").click();
      await page.locator(".row.marked").getByText("I look into src/ports.ts first.").waitFor();
    },
  );

  // In the short form, inspect-users.test.ts asks what became of a message, and pins it.
  more("a message says what became of it, and leads to what did that", async () => {
    const { page } = await open(at(writing.link, made.talk));
    const asked = row(page, "On which port does staging listen?");
    await asked.getByRole("button", { name: /^What became of message \d+$/ }).click();
    const trace = asked.getByRole("region", { name: /^What became of message/ });
    await trace.getByText("It left the window.").waitFor();
    await trace.getByRole("link", { name: "Memory has it" }).waitFor();
    await trace
      .getByRole("listitem")
      .filter({ hasText: "Left; quoted in the summary" })
      .getByRole("link")
      .click();
    const chosen = page.getByRole("navigation", { name: "Compactions" }).locator("[aria-current]");
    await chosen.getByText("1", { exact: true }).waitFor();
    await part(page, "Transcript");
    const cameBack = row(page, "Staging listens on port 7443.");
    await cameBack.getByRole("button", { name: /^What became of message/ }).click();
    const events = cameBack.getByRole("link", { name: /^Event \d+$/ });
    await events.first().waitFor();
    const last = row(page, "And which port was it?");
    await page.getByRole("region", { name: "Transcript" }).press("End");
    await last.getByRole("button", { name: /^What became of/ }).click();
    await last.getByText("It is in the window, word for word.").waitFor();
    await last.getByRole("button", { name: /^Pin/ }).click();
    await last.getByText("pinned", { exact: true }).waitFor();
    await last.getByRole("button", { name: "Unpin" }).click();
    await last.getByRole("button", { name: /^Pin/ }).waitFor();
  });

  more("what a session shows below its name stays where it is when the rest is there", async () => {
    const { page } = await open(reading.link);
    const { promise: isAsked, resolve } = Promise.withResolvers<Route>();
    await page.route(new RegExp(`/sessions/${made.talk}$`), resolve);
    await page.locator("a.session").filter({ hasText: "On which port" }).click();
    const tabs = page.getByRole("navigation", { name: "Parts of the session" });
    await row(page, "On which port does staging listen?").waitFor();
    const asked = await isAsked;
    const before = await tabs.boundingBox();
    await asked.continue();
    await page.getByText("5 turns").waitFor();
    expect(await tabs.boundingBox()).toEqual(before);
  });

  test("the check of everything stays where it is when the sizes are there", async () => {
    const { page } = await open(reading.link);
    const { promise: isAsked, resolve } = Promise.withResolvers<Route>();
    await page.route(/\/memory\/stats$/, resolve);
    await show(page, "Health");
    const button = page.getByRole("button", { name: "Check everything" });
    await button.waitFor();
    await page.getByText("session-compaction").waitFor();
    const before = await button.boundingBox();
    await (await isAsked).continue();
    await page.getByText(/^\d+, of \d+ sessions?$/).waitFor();
    expect(await button.boundingBox()).toEqual(before);
  });

  more(
    "turn by turn: what came back by itself and why, and what the agent searched for",
    async () => {
      const { page } = await open(at(reading.link, made.talk));
      await part(page, "Recalled");
      const turn = (prompt: string) => page.getByRole("region", { name: prompt });
      const recalled = turn("And which port was it?");
      await recalled.getByRole("heading", { name: "Came back by itself" }).waitFor();
      const first = recalled.getByRole("listitem").first();
      await first.getByText("Why it came back").click();
      await first.getByRole("row", { name: /port/ }).first().waitFor();
      const searched = turn("On which port does staging listen?");
      await searched.getByText("port of staging").waitFor();
      await searched.getByText("It found nothing.").waitFor();
      await searched.getByRole("link", { name: "Ask it again" }).click();
      await page.getByRole("heading", { level: 1, name: "Recall" }).waitFor();
      expect(await page.getByRole("searchbox").inputValue()).toBe("port of staging");
    },
  );

  more("recall says why something is no result", async () => {
    const { page } = await open(reading.link);
    await show(page, "Recall");
    await page.getByRole("searchbox").fill("who owns the parcel index");
    await page.keyboard.press("Enter");
    const why = async (words: string) => {
      await page.getByLabel("Words of what you expected").fill(words);
      await page.getByRole("button", { name: "Why not?" }).click();
    };
    await why("who owns the parcel index");
    await page.getByText(/^It is result 1\.$/).waitFor();
    await why("On which port does staging listen");
    await page
      .getByText(/which is too little to be a result|It has no word of the question/)
      .first()
      .waitFor();
    await why("retry_budget");
    await page.getByText("Memory does not have it; the log does.").waitFor();
    await why("xylophone");
    await page.getByText("Neither memory nor a log has these words").waitFor();
  });

  more("a compaction is taken back on the page with all later ones, and so is that", async () => {
    const { page } = await open(at(writing.link, made.talk));
    await part(page, "Compactions");
    const compaction = page.getByRole("navigation", { name: "Compactions" }).getByRole("link");
    const undo = page.getByRole("button", { name: "Undo this compaction" });
    await undo.waitFor();
    expect(await compaction.count()).toBeGreaterThan(1);
    await compaction.first().click();
    await undo.click();
    const leaveOut = page.getByRole("button", { name: /^Undo it, and leave \d+ messages? out$/ });
    const isBack = page.getByText(/^In the window again: /);
    await leaveOut.or(isBack).first().waitFor();
    if ((await leaveOut.count()) > 0) await leaveOut.click();
    await isBack.waitFor();
    await page.getByText(/^undone by event \d+$/).waitFor();
    await compaction.last().click();
    await page.getByText(/^undone by event \d+$/).waitFor();
    expect(await undo.count()).toBe(0);
    await page.getByRole("button", { name: "Undo the undo" }).click();
    await undo.waitFor();
    await part(page, "Transcript");
    const taken = async () => {
      await page.getByRole("region", { name: "Transcript" }).press("End");
      return await page.getByText(/^Took back what event \d+ did to the window$/).count();
    };
    await expect.poll(taken).toBe(2);
  });

  more("a message is brought back into the window, and a record is kept out of it", async () => {
    const { page } = await open(at(writing.link, made.talk));
    await part(page, "Compactions");
    await page.getByRole("navigation", { name: "Compactions" }).getByRole("link").first().click();
    const owner = row(page, "On which port does staging listen?");
    await owner.getByRole("button", { name: "What became of it, and bring it back" }).click();
    await owner.getByRole("button", { name: "Bring it back and keep it" }).click();
    await owner.getByText("The model sees it again, through every compaction.").waitFor();
    await owner.getByRole("button", { name: "Let the next compaction take it" }).click();
    await owner.getByText("The model sees it again, until the next compaction.").waitFor();
    await part(page, "Context");
    await page.getByRole("row", { name: /Brought back/ }).waitFor();
    await part(page, "Recalled");
    const record = page
      .getByRole("region", { name: "And which port was it?" })
      .getByRole("listitem")
      .first();
    await record.getByRole("button", { name: "Not this" }).click();
    await record.getByText("never comes back by itself here again").waitFor();
    await record.getByRole("button", { name: "Let it come back" }).click();
    await record.getByRole("button", { name: "Not this" }).waitFor();
  });

  more("a session is forked before a prompt, and both know each other", async () => {
    const { page } = await open(at(writing.link, made.talk));
    const asked = row(page, "And which port was it?");
    await row(page, "On which port").waitFor();
    await page.getByRole("region", { name: "Transcript" }).press("End");
    await asked.getByRole("button", { name: /^What became of/ }).click();
    await asked.getByRole("button", { name: "Fork before it, to ask something else" }).click();
    await asked.getByRole("link", { name: "The new session" }).click();
    await page.getByRole("link", { name: `fork of ${made.talk.slice(0, 24)}` }).click();
    await page.getByRole("link", { name: /^fork at event \d+$/ }).waitFor();
    await show(page, "Sessions");
    const parent = page.locator(`a.session.depth-0[href*="${made.talk}"]`);
    await parent.getByText("1 fork", { exact: true }).waitFor();
    await parent.getByText(/^\$0\.\d{4}$/).waitFor();
    await parent.getByRole("img", { name: /^Window in use: [1-9]\d* %$/ }).waitFor();
    const child = page.locator("a.session.depth-1");
    await child.getByText("fork", { exact: true }).waitFor();
    const [above, below] = [await parent.boundingBox(), await child.boundingBox()];
    expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThanOrEqual((below?.y ?? 0) + 2);
    await page.getByLabel("Agent").selectOption("claude-code");
    await parent.waitFor({ state: "detached" });
    expect(await page.locator("a.session").count()).toBe(1);
  });

  more("health has sizes, what was used when, and what is wrong, for the owner only", async () => {
    const { page } = await open(reading.link);
    await show(page, "Health");
    await page.getByText(/places of words/).waitFor();
    await page
      .getByRole("img", { name: /^\d+ sessions were used in 30 days, on 1 of them\.$/ })
      .waitFor();
    await page.getByRole("button", { name: "Check everything" }).click();
    await page.getByRole("row", { name: /^good sqlite/ }).waitFor();
    await page.getByRole("row", { name: /^(good|wrong) store/ }).waitFor();
  });

  test("calls that wait are answered on the page, and only there when it may write", async () => {
    const { page } = await open(reading.link);
    await show(page, "Approvals");
    await page.getByText("2 calls wait").waitFor();
    expect(await page.getByRole("button", { name: "Allow once" }).count()).toBe(0);
    const { page: other } = await open(writing.link);
    await show(other, "Approvals");
    const call = (query: string) => other.getByRole("listitem").filter({ hasText: query });
    await call("the first").getByText("For: Look twice.").waitFor();
    // What is allowed is shown, all of it.
    await call("the first").getByText("its end").waitFor();
    await call("the first").getByRole("button", { name: "Allow once" }).click();
    await other.getByText("1 call waits").waitFor();
    await call("the second").getByLabel("Reason").fill("One look is enough.");
    await call("the second").getByRole("button", { name: "Deny" }).click();
    await other.getByText("Nothing waits.").waitFor();
    await page.goto(at(reading.link, made.waiting));
    await row(page, "Denied memory_search: One look is enough.").waitFor();
    expect(await page.getByText("Denied").count()).toBe(1);
  });

  test("one session as a file shows it without a server, without credentials, and asks for nothing", async () => {
    const file = join(root, "session.html");
    const { code, stdout } = await project.rkat(["inspect", made.talk, "--export", file]);
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Replaced in it: [1-9]\d* × GitHub token\./),
    });
    expect(readFileSync(file, "utf8")).not.toContain(SECRET);
    const { page, asked, said } = await open(pathToFileURL(file).href);
    await row(page, "On which port does staging listen?").waitFor();
    await page.getByText(/Replaced before it was written: [1-9]\d* × GitHub token/).waitFor();
    await part(page, "Compactions");
    await row(page, "Left; ").waitFor();
    await page.getByText("Where does this come from?").click();
    await page.getByText(/^It rests on [1-9]\d* messages:$/).waitFor();
    await part(page, "Context");
    await page.getByRole("row", { name: /Tool definitions/ }).waitFor();
    await part(page, "Recalled");
    await page.getByText("Where does this come from?").first().click();
    const link = page.locator(".rests-on").getByRole("link").first();
    await link.click();
    await page.getByRole("region", { name: "Transcript" }).waitFor();
    expect(asked.filter((url) => !url.startsWith("file:"))).toEqual([]);
    expect(said).toEqual([]);
  });

  test("recall says why it found something, and what there is around it", async () => {
    const { page } = await open(reading.link);
    await show(page, "Recall");
    await page.getByRole("searchbox").fill("who owns the parcel index");
    await page.keyboard.press("Enter");
    const best = page.getByRole("listitem").filter({ hasText: "Why it was found" }).first();
    await best.getByText("Why it was found").click();
    await best
      .getByRole("row", { name: /^(word|same text)/ })
      .first()
      .waitFor();
    const answer = page
      .getByRole("listitem")
      .filter({ has: page.locator(".words", { hasText: "The owner of the parcel index is" }) });
    await answer.first().getByRole("link", { name: "Where it was said" }).click();
    await page.locator(".row.marked").getByText("The owner of the parcel index is").waitFor();
  });

  more("knowledge says what replaced what, and is edited, pinned and forgotten", async () => {
    const { page } = await open(reading.link);
    await show(page, "Knowledge");
    await page.getByLabel("Kind").selectOption("preference");
    const entry = (text: string) =>
      page.getByRole("article").filter({ has: page.locator(".words", { hasText: text }) });
    const older = entry("Always use npm.");
    await older.getByText("no longer holds").waitFor();
    await entry("Never use npm.").getByRole("link", { name: "“Always use npm.”" }).waitFor();
    expect(await page.getByRole("button", { name: "Edit" }).count()).toBe(0);
    await older.getByRole("link", { name: "“Never use npm.”" }).click();
    await page.getByText("Only one entry is shown.").waitFor();
    await entry("Never use npm.").waitFor();
    expect(await older.count()).toBe(0);

    const { page: other } = await open(writing.link);
    await show(other, "Knowledge");
    await other.getByLabel("Kind").selectOption("preference");
    await other.locator(".badge[data-tone=rule]").first().waitFor({ state: "detached" });
    const before = other
      .getByRole("article")
      .filter({ has: other.locator(".words", { hasText: "Always use npm." }) });
    await before.getByRole("button", { name: "Both hold" }).click();
    await before.getByText("You said that this holds too:").waitFor();
    expect(await before.getByText("no longer holds").count()).toBe(0);
    await before.getByRole("button", { name: "Not both" }).click();
    await before.getByText("no longer holds").waitFor();
    const commits = (text: string) => other.getByRole("article").filter({ hasText: text });
    await commits("Write short commits.").getByRole("button", { name: "Edit" }).click();
    await other.getByLabel("New text").fill("Write long commits.");
    await other.getByRole("button", { name: "Save" }).click();
    await commits("Write long commits.").getByText("edited", { exact: true }).waitFor();
    await commits("Write long commits.").getByRole("button", { name: "Pin" }).click();
    await commits("Write long commits.").getByText("pinned", { exact: true }).waitFor();
    await commits("Write long commits.").getByRole("button", { name: "Forget…" }).click();
    const dialog = other.getByRole("dialog", { name: "Forget this, and never learn it again?" });
    await dialog.getByRole("button", { name: "Forget for good" }).click();
    await commits("Write long commits.").waitFor({ state: "detached" });
  });

  test("what somebody wrote to be run, to hide or to send something is shown as it is", async () => {
    const { page, asked, said } = await open(at(reading.link, made.hostile));
    await row(page, "<img src=").waitFor();
    const text = (await row(page, "<img src=").locator(".words").textContent()) ?? "";
    expect(text).toContain('onerror="window.hacked=1"><script>');
    expect(text).toContain("<U+202E>gnp.exe");
    expect(text).toContain("\u241b[31mred");
    for (const sign of ["\u202e", "\u202c", "\u001b"]) expect(text).not.toContain(sign);
    expect(await page.evaluate(() => Reflect.get(window, "hacked"))).toBe(undefined);
    expect(await page.locator("main img, main script, main a[href^=javascript]").count()).toBe(0);
    // The five million characters are there when somebody asks, and not before.
    await page.getByRole("button", { name: /4,996,000 characters are left/ }).waitFor();
    expect(await page.evaluate(() => document.body.innerText.length)).toBeLessThan(20_000);
    await page.goto(`${new URL("/", reading.link)}#/sessions`);
    await page.locator("a.session").filter({ hasText: "topic=" }).waitFor();
    expect(asked.filter((url) => url.includes("evil.example"))).toEqual([]);
    expect(said).toEqual([]);
    expect(HOSTILE).toContain("\u202E");
  });

  test(`of ${EVENTS} events only those in sight are in the document, and each can be reached`, async () => {
    const { page } = await open(at(reading.link, made.long));
    await row(page, "Message 1").waitFor();
    await page.getByText(`${EVENTS.toLocaleString("en")} rows`).waitFor();
    await page.getByRole("region", { name: "Transcript" }).press("End");
    await row(page, `Message ${EVENTS}`).waitFor();
    expect(await page.locator("*").count()).toBeLessThan(1000);
    const last = page.getByRole("listitem").filter({ hasText: `Message ${EVENTS}` });
    expect(await last.getAttribute("aria-posinset")).toBe(String(EVENTS));
  });

  test("an open page shows what another process does: a pin, a forgotten text, an archived and a deleted session", async () => {
    const said = ["The ferry leaves at noon.", "It leaves. ".repeat(400), "Who sails it?"];
    const messages = said.flatMap((content) => [
      { role: "user", content },
      { role: "assistant", content: "Noted." },
    ]);
    project.write("talk.jsonl", messages.map((message) => JSON.stringify(message)).join("\n"));
    const model = ["--model", "ollama/none"];
    const create = ["sessions", "create", ...model, "--messages", "talk.jsonl", "--json"];
    const { session_id: id } = (await project.json(create)) as { session_id: string };
    const sessions = (command: string) => done(["sessions", command, id, "--yes"]);
    const { page } = await open(at(reading.link, id));
    const rows = page.getByRole("listitem").filter({ hasText: "The ferry" });
    await rows.waitFor();
    await part(page, "Context");
    await page.getByRole("rowheader", { name: "Turns" }).waitFor();
    await done(["sessions", "pin", id, "1"]);
    await page.getByRole("rowheader", { name: "Pins" }).waitFor();
    await part(page, "Transcript");
    await rows.waitFor();
    await done(["memory", "forget", "--query", "The ferry leaves at noon", "--yes"]);
    await rows.waitFor({ state: "detached" });
    await page.getByText("Forgot 1 message").waitFor();
    await done(["sessions", "archive", id]);
    await page.locator(".facts").getByText("archived").waitFor();
    await sessions("delete");
    await page.getByRole("alert").getByText("No session has the id").waitFor();
    expect(await page.getByRole("listitem").filter({ hasText: "Who sails" }).count()).toBe(0);
  });

  test("a server that was not there for a moment is asked again, and its refusal is not shown for ever", async () => {
    const { page } = await open(reading.link);
    const row = page.locator("a.session").filter({ hasText: "On which port" });
    await row.waitFor();
    const refused = new Set<string>();
    await page.route(/\/api\/sessions(\?|\/.*\/log)/, async (route) => {
      const { pathname } = new URL(route.request().url());
      if (refused.has(pathname)) return await route.continue();
      refused.add(pathname);
      await route.fulfill({ status: 503, json: { message: "The server is stopping.", hint: "" } });
    });
    await page.getByLabel("Archived too").check();
    await page.getByRole("alert").getByText("The server is stopping.").waitFor();
    await page.getByLabel("Archived too").uncheck();
    await page.getByRole("alert").waitFor({ state: "detached" });
    await row.click();
    await page.getByText("connection lost").waitFor({ state: "detached" });
    await page.getByRole("article").filter({ hasText: "On which port" }).first().waitFor();
  });

  test("a page of memory says which entries it shows, and does not look like all of them", async () => {
    const note = (at: number) => ({
      session_id: "notes",
      turn: 0,
      content: `Crate ${at} is empty.`,
    });
    const lines = Array.from({ length: 101 }, (_, at) => JSON.stringify(note(at)));
    project.write("crates.jsonl", lines.join("\n"));
    await done(["memory", "add", "--jsonl", "crates.jsonl"]);
    const { page } = await open(reading.link);
    await show(page, "Memory");
    await page.getByLabel("Session").fill("notes");
    await page.getByText("entries 1 to 100").waitFor();
    await page.getByRole("button", { name: "Later" }).click();
    await page.getByText("entries 101 to 101").waitFor();
    await done(["memory", "forget", "--session", "notes", "--yes"]);
  });

  test(`${TABS} tabs of one session all show it`, async () => {
    const { page, context } = await open(at(reading.link, made.talk));
    const tabs = await Promise.all(
      Array.from({ length: TABS - 1 }, async () => {
        const tab = await context.newPage();
        await tab.goto(at(reading.link, made.talk));
        return tab;
      }),
    );
    for (const tab of [page, ...tabs]) await row(tab, "On which port").waitFor();
    const saying = async (state: string) => {
      const counts = [page, ...tabs].map((tab) => tab.getByText(state, { exact: true }).count());
      return (await Promise.all(counts)).filter((count) => count > 0).length;
    };
    await expect.poll(() => saying("live")).toBe(4);
    expect(await saying("looks every 2 s: other tabs are live")).toBe(TABS - 4);
  });

  test("by keyboard alone: find an entry, see what goes, forget it, and read the receipt", async () => {
    const { page } = await open(writing.link);
    await tabTo(page, /^Memory$/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Memory" }).waitFor();
    await page.getByText(/\d+ entr(?:y|ies)/).waitFor();
    await tabTo(page, /^Choose: The kiosk sells stamps/);
    await page.keyboard.press("Space");
    await tabTo(page, /^Forget 1…$/, "Shift+Tab");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Forget this?" });
    await dialog.getByText("The kiosk sells stamps.").waitFor();
    await tabTo(page, /^Forget for good$/);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Receipt" }).getByText("1 forgotten.").waitFor();
    await tabTo(page, /^Close$/);
    await page.keyboard.press("Enter");
    await page.getByText("The kiosk sells stamps.").waitFor({ state: "detached" });
  });

  more(
    "by keyboard alone: a note is corrected, says what it said, is pinned, and is forgotten",
    async () => {
      const { page } = await open(writing.link);
      const card = (text: string) => page.locator("li.card").filter({ hasText: text });
      await tabTo(page, /^Memory$/);
      await page.keyboard.press("Enter");
      await card("opens at nine").waitFor();
      // What was said has no such button.
      const said = card("Who owns the parcel index?").first();
      expect(await said.getByRole("button", { name: "Edit" }).count()).toBe(0);
      await said.getByRole("link", { name: "Pin it or bring it back where it was said" }).waitFor();
      await page.getByLabel("Kind").selectOption("added by hand");
      await said.waitFor({ state: "detached" });
      await tabTo(page, /^Edit$/);
      await page.keyboard.press("Enter");
      await page.getByLabel("New text").and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Control+A");
      await page.keyboard.type("The harbour office opens at eight.");
      await tabTo(page, /^Save$/);
      await page.keyboard.press("Enter");
      const now = card("opens at eight");
      await now.getByText("What it said before (1)").waitFor();
      await tabTo(page, /^What it said before/);
      await page.keyboard.press("Enter");
      await now.getByText("The harbour office opens at nine.").waitFor();
      await tabTo(page, /^Pin$/, "Shift+Tab");
      await page.keyboard.press("Enter");
      await now.getByText("pinned", { exact: true }).waitFor();
      await page.getByLabel("Pinned or edited").check();
      await page.getByText("1 entry").waitFor();
      await tabTo(page, /^Forget…$/);
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "Forget this?" }).waitFor();
      await tabTo(page, /^Forget for good$/);
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "Receipt" }).getByText("1 forgotten.").waitFor();
      await tabTo(page, /^Close$/);
      await page.keyboard.press("Enter");
      await page.getByText("Memory has nothing here.").waitFor();
    },
  );

  // In the short form, each colour has every second view.
  test.each([
    ["light", 0],
    ["dark", 1],
  ] as const)("a screen reader and a phone have all of it, %s", async (colorScheme, half) => {
    // The narrowest that a page has to fit, by the guidelines for accessibility.
    const viewport = { width: 320, height: 800 };
    const { page } = await open(at(reading.link, made.talk), {
      colorScheme,
      viewport,
      bypassCSP: true,
    });
    await page.addScriptTag({ content: readFileSync(AXE(), "utf8") });
    const problems = async () => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide, page.url()).toBeLessThanOrEqual(0);
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll("td, th, svg text")]
          .map((cell) => ({ cell, box: cell.getBoundingClientRect() }))
          // Also text that is too small to be read.
          .filter(({ box }) => box.right > innerWidth || (box.height > 0 && box.height < 8))
          .map(({ cell }) => cell.textContent),
      );
      expect(cut, page.url()).toEqual([]);
      return await page.evaluate(async () => {
        const axe = Reflect.get(window, "axe") as {
          run(): Promise<{ violations: AxeFinding[] }>;
        };
        const { violations } = await axe.run();
        return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
      });
    };
    await row(page, "On which port").waitFor();
    expect(await problems()).toEqual([]);
    await page
      .getByRole("button", { name: /^What became of/ })
      .first()
      .click();
    await page.getByRole("region", { name: /^What became of/ }).waitFor();
    expect(await problems()).toEqual([]);
    for (const name of sampled(
      ["Context", "Compactions", "Recalled"],
      { of: 2, at: half },
      "cases",
    )) {
      await part(page, name);
      await page.getByRole("heading", { level: 2 }).first().waitFor();
      if (name === "Recalled") await page.getByText("Why it came back").first().click();
      if (name === "Compactions") {
        await page.getByText("Where does this come from?").click();
        await page.getByText(/^It rests on/).waitFor();
        const [before, after] = await Promise.all(
          [".before", ".after"].map((half) => page.locator(half).boundingBox()),
        );
        expect((before?.y ?? 0) + (before?.height ?? 0)).toBeLessThanOrEqual(after?.y ?? 0);
      }
      expect(await problems(), name).toEqual([]);
    }
    for (const name of sampled(VIEWS, { of: 2, at: half }, "cases")) {
      await show(page, name);
      if (name === "Recall") {
        await page.getByRole("searchbox").fill("parcel index");
        await page.keyboard.press("Enter");
        await page.getByText("Why it was found").first().click();
      }
      if (name === "Health") {
        await page.getByRole("button", { name: "Check everything" }).click();
        await page.getByRole("button", { name: "Check again" }).waitFor();
      }
      expect(await problems(), name).toEqual([]);
    }
  });
});

const VIEWS = ["Sessions", "Recall", "Memory", "Knowledge", "Approvals", "Health"];

interface AxeFinding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}
