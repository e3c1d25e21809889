import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { MISSING, newPage, TEST_MS } from "./browser.ts";
import { fill, shareForGroup } from "./inspected-project.ts";

describe.skipIf(MISSING)(
  `the page with a keyboard${MISSING ? ` (${MISSING})` : ""}`,
  { timeout: TEST_MS },
  () => {
    const shared = shareForGroup(fill);

    async function open(place: string, options = {}): Promise<Page> {
      const page = await newPage(shared.browser, options);
      await page.goto(shared.link);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.evaluate((to) => {
        location.hash = to;
      }, place);
      return page;
    }

    test("each view has a title of its own, and a view that is opened from another one begins at its beginning", async () => {
      const page = await open("#/sessions");
      await page.locator("a.session").filter({ hasText: "On which port" }).focus();
      await page.keyboard.press("Enter");
      await expect
        .poll(() => page.title())
        .toMatch(/^On which port does staging listen\?.* · rkat$/);
      await expect.poll(() => focused(page)).toBe("main");
      await page.evaluate(() => {
        location.hash = "#/memory";
      });
      await expect.poll(() => page.title()).toBe("Memory · rkat");
    });

    test("after a dialog the keyboard is where it was, and after what it did at what comes next", async () => {
      const page = await open("#/memory");
      const kiosk = page.locator("li.card").filter({ hasText: "The kiosk sells stamps." });
      const forget = kiosk.getByRole("button", { name: "Forget…" });
      await forget.focus();
      await page.keyboard.press("Enter");
      const keep = page.getByRole("button", { name: "Keep" });
      await keep.and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Enter");
      await forget.and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Forget for good" }).press("Enter");
      const close = page.getByRole("dialog", { name: "Receipt" }).getByRole("button");
      await close.and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Enter");
      await kiosk.waitFor({ state: "detached" });
      await page.locator("li.card :focus").waitFor();
    });

    test("a button that goes when it was pressed leaves the keyboard beside it", async () => {
      const page = await open("#/memory");
      const card = page.locator("li.card").filter({ hasText: "opens at nine" });
      await page.getByLabel("Kind").selectOption("added by hand");
      await card.getByRole("button", { name: "Edit" }).press("Enter");
      await page.getByLabel("New text").press("Escape");
      await card.locator(":focus").waitFor();
      await show(page, `#/session/${shared.made.hostile}/transcript`);
      await page.getByRole("region", { name: "Transcript" }).press("End");
      const long = page.getByRole("article").filter({ hasText: "characters are left" });
      await long.getByRole("button", { name: /characters are left/ }).press("Enter");
      await page.getByRole("article").locator(":focus").waitFor();
      await show(page, `#/session/${shared.made.talk}/compactions`);
      await page.getByRole("button", { name: "Undo this compaction" }).press("Enter");
      await page.locator(".undo :focus, .after:focus").waitFor();
      await show(page, "#/approvals");
      const calls = page.getByRole("listitem");
      await calls.nth(1).waitFor();
      await calls.first().getByRole("button", { name: "Deny" }).press("Enter");
      await page.getByText("1 call waits").waitFor();
      await page.locator("li.card :focus").waitFor();
    });

    test("in a window of a few lines, and without colours, what a view is for can be read", async () => {
      const viewport = { width: 320, height: 256 };
      const page = await open("#/sessions", { viewport, forcedColors: "active" });
      const views = ["transcript", "context", "compactions", "recalled"];
      const places = views.map((view) => `#/session/${shared.made.talk}/${view}`);
      for (const place of ["#/sessions", ...places, "#/memory", "#/knowledge", "#/approvals"]) {
        await show(page, place);
        const read = page.locator("main :is(.list, .scroll, .beside)").first();
        await expect.poll(async () => (await read.boundingBox())?.height).toBeGreaterThan(120);
        const chosen = page.locator("main [aria-current]").first();
        const other = page.locator("main :is(.tabs, .pick) a:not([aria-current])").first();
        if ((await chosen.count()) > 0)
          expect(await look(chosen), place).not.toBe(await look(other));
      }
    });
  },
);

async function show(page: Page, place: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, place);
  await page.locator("main .view").waitFor();
}

/** What the keyboard is in. */
async function focused(page: Page): Promise<string | undefined> {
  return await page.evaluate(() => document.activeElement?.id);
}

/** What tells a link from another one without colours. */
async function look(link: ReturnType<Page["locator"]>): Promise<string> {
  return await link.evaluate((element) => {
    const { borderBottomColor, borderTopWidth } = getComputedStyle(element);
    return `${borderBottomColor} ${borderTopWidth}`;
  });
}
