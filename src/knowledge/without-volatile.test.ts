import { expect, test } from "vitest";
import { withoutVolatile } from "./without-volatile.ts";

test.each([
  ["3F2B8C1E-0000-4000-8000-9D0A7C5E4F21 x", "# x"],
  ["3f2b8c1e-0000-4000-8000-9d0a7c5e4f21x", "#-#-#-#-#d#a#c#e#f#x"],
  ["2026-01-05, 2026-01-05 10:00 and 2026-01-05T10:00:00.123+0100", "#, # and #"],
  ["2026-01-05t10:00-3f2b8c1e-0000-4000-8000-9d0a7c5e4f21", "#-#"],
  ["2026-01-05x", "#x"],
  ["Mon, 5 Jan; monday", "# # #; monday"],
  ["1,000.5 at 10:30, 1. and 2", "# at #, #. and #"],
  ["1.deadbee1", "#.#"],
  ["deadbeef and dead1", "deadbeef and dead#"],
  ["\u001b[1;31mred\u001b[0m \t\u3000 text \n", "red text"],
])("%s becomes %s", (text, plain) => {
  expect(withoutVolatile(text)).toBe(plain);
});
