import { createInterface } from "node:readline";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createSessionService, type SessionService } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { scriptedModel } from "../../src/testing.ts";
import { RKAT } from "../support/built-package.ts";
import { freshSchema, hasPostgres, postgresUrl } from "../support/postgres.ts";
import { Project } from "../support/rkat-process.ts";
import { spawn } from "../support/start-process.ts";
import { launch, MISSING, newPage, TEST_MS } from "./browser.ts";

const TOKENS = { ada: "token-of-ada-9f2c", bob: "token-of-bob-71aa" };
const OWNER = "token-of-the-owner-55";

const skipped = MISSING ?? (hasPostgres ? undefined : "PostgreSQL is not installed");
const TITLE = `the page of a server with users${skipped ? ` (${skipped})` : ""}`;

describe.skipIf(skipped)(TITLE, { timeout: TEST_MS }, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });

  afterAll(() => browser?.close());

  async function open(url: string, token: string): Promise<Page> {
    const page = await newPage(browser);
    await page.goto(url);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    return page;
  }

  const view = async (page: Page, name: string) => {
    await page
      .getByRole("navigation", { name: "Views" })
      .getByRole("link", { name, exact: true })
      .click();
    await page.getByRole("heading", { level: 1, name }).waitFor();
  };

  // Takes over two seconds: it starts a server and PostgreSQL, and a browser shows several users' pages.
  test("on PostgreSQL, a user sees what is theirs and nothing else, the owner what each user does, and a session grows while it is shown", async () => {
    const { service, ofAda, ofBob, url } = await served();

    const adas = await open(url, TOKENS.ada);
    await adas.locator("a.session").filter({ hasText: "harbour" }).waitFor();
    expect(await adas.locator("a.session").count()).toBe(1);
    await view(adas, "Memory");
    await adas.getByText("The harbour is closed on Mondays.").waitFor();
    expect(await adas.getByText("lighthouse").count()).toBe(0);
    await view(adas, "Recall");
    await adas.getByRole("searchbox").fill("where does the lighthouse keeper live");
    await adas.keyboard.press("Enter");
    await adas.getByText("Nothing in memory is about this.").waitFor();
    await view(adas, "Health");
    await adas.getByText("1, of 1 session").waitFor();
    expect(await adas.getByRole("button", { name: "Check everything" }).count()).toBe(0);
    expect(await adas.getByLabel("Look as this user").count()).toBe(0);
    await adas.goto(`${url}#/session/${ofBob}`);
    await adas.getByText(`No session has the id "${ofBob}".`).waitFor();

    await adas.goto(`${url}#/session/${ofAda}`);
    await adas.getByText("live", { exact: true }).waitFor();
    await service.forUser("ada").appendMessages({
      sessionId: ofAda,
      messages: [{ role: "user", content: "It opens at nine." }],
    });
    const added = adas.getByRole("article").filter({ hasText: "It opens at nine." });
    await added.waitFor();
    await added.getByRole("button", { name: /^What became of/ }).click();
    await added.getByRole("button", { name: /^Pin/ }).click();
    await added.getByText("pinned", { exact: true }).waitFor();
    expect(await service.forUser("ada").pins({ sessionId: ofAda })).toMatchObject({
      pins: [{ text: "It opens at nine." }],
    });

    const owners = await open(url, OWNER);
    await view(owners, "Health");
    await owners.getByRole("button", { name: "Check everything" }).click();
    await owners.getByRole("row", { name: /^good postgres \d/ }).waitFor();
    await owners.getByLabel("Look as this user").fill("bob");
    await owners.keyboard.press("Enter");
    await owners.locator("a.session").filter({ hasText: "lighthouse" }).waitFor();
    expect(await owners.locator("a.session").count()).toBe(1);
    await owners.getByRole("button", { name: "as bob, leave" }).click();
    await owners.getByText("There are no sessions here yet.").waitFor();
  });

  /** A server on a database with a session of each of two users. */
  async function served() {
    const schema = await freshSchema();
    const connectionString = await postgresUrl();
    const stores = postgresStores({ connectionString, schema });
    const service = createSessionService({ model: scriptedModel([]), stores });
    onTestFinished(async () => {
      await service.close();
      await stores.close();
    });
    const ofAda = await say(service.forUser("ada"), "The harbour is closed on Mondays.");
    const ofBob = await say(service.forUser("bob"), "The lighthouse keeper lives in Vardø.");

    const store = new URL(connectionString);
    store.searchParams.set("schema", schema);
    const project = await Project.open({ store: store.href });
    project.write("tokens.json", JSON.stringify(TOKENS));
    const args = ["serve", "--port", "0", "--inspect", "--write", "--user-tokens", "tokens.json"];
    const child = spawn(process.execPath, [RKAT, ...args], {
      cwd: project.folder,
      env: { ...project.env, RKAT_TOKEN: OWNER },
      stdio: ["ignore", "ignore", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    for await (const line of createInterface({ input: child.stderr })) {
      const url = /http:\S+\/inspect\//.exec(line)?.[0];
      if (url) return { service, ofAda, ofBob, url };
    }
    throw new Error("It did not start.");
  }
});

async function say(service: SessionService, content: string): Promise<string> {
  const { sessionId } = await service.createSession({});
  await service.appendMessages({ sessionId, messages: [{ role: "user", content }] });
  return sessionId;
}
