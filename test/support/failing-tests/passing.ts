import { test } from "vitest";

test("passes", () => {});
