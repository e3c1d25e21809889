import { expect, test } from "vitest";
import { contradicts, statementOf } from "./contradicts.ts";

const both = (one: string, other: string) => contradicts(statementOf(one), statementOf(other));

test.each([
  ["Always use tabs.", "Never use tabs."],
  ["Prefer tabs over spaces", "Prefer spaces over tabs."],
  ["Use npm instead of yarn", "prefer yarn over npm"],
  ["Commit generated files", "Don't commit generated files again"],
  ["Always deploy with Terraform.", "Always deploy with Pulumi."],
  ["From now on answer in German.", "From now on, answer in French please."],
  ["Keep lines under 80 characters", "Always keep lines under 100 characters."],
  ["Constraint: only edit files under src/", "Constraint: only edit files under lib/"],
  ["Never use the network.", "You may use the network now."],
  ["Never use the network", "It's okay to use the network."],
  ["Never push without asking me.", "You can push without asking me now."],
  ["You can push without asking me now.", "Ask me again before you push."],
  ["Never spend more than 40 euros.", "Never spend more than 60 euros."],
  ["Always use tabs.", "Forget what I said about tabs, four spaces please."],
  ["Never use mocks.", "The rule about mocks no longer applies."],
  ["Never spend more than 40 euros.", "Scrap the 40 euro limit."],
  ["Forget what I said about tabs.", "Always use tabs."],
])("these cannot both hold: %s / %s", (one, other) => {
  expect(both(one, other)).toBe(true);
});

test.each([
  ["Always use tabs.", "Always use tabs, please"],
  ["Always run the tests.", "Never push on a Friday."],
  ["Never use tabs in Python files.", "Always format Go code."],
  ["Prefer tabs over spaces", "Prefer short names over long ones"],
  ["Always", "Never"],
  ["Always answer in German.", "Always answer in bullets."],
  ["Always put tests in test", "Always put tests in lib"],
  ["Never deploy with Terraform.", "Never deploy with Pulumi."],
  ["Always use pnpm.", "Always use Vitest."],
  ["Never push without asking me.", "Ask me before you push."],
  ["Always use tabs.", "Forget what I said about mocks."],
  ["Always use tabs.", "Forget what I said about tabs in Makefiles."],
  ["Always write docstrings.", "The rule about docstrings no longer applies to tests."],
  ["Always use tabs.", "Forget the tabs in my browser."],
  ["Never drop a foreign key without asking me.", "Drop the foreign key constraint on orders."],
  ["Always run eslint before a commit.", "Ignore the eslint rule in this file."],
  ["Never lift the rate limit in production.", "Lift the rate limit for the load test."],
  ["Never use more memory than 2 GB.", "The limit on memory is gone, so fix the alert."],
  ["Never skip the migration.", "Drop the requirement for migration scripts in the docs."],
  ["Never edit step 1.", "Never edit step 2."],
  ["Always deploy with Terraform.", "Always deploy to production with care."],
])("these can: %s / %s", (one, other) => {
  expect(both(one, other)).toBe(false);
});
