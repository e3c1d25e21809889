import { expect, test } from "vitest";
import { surfacesDoc } from "../scripts/surfaces-doc.ts";

test("docs/surfaces.md is what the tables say; `npm run docs` writes it", async () => {
  await expect(surfacesDoc()).toMatchFileSnapshot("../docs/surfaces.md");
});
