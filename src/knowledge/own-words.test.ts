import { describe, expect, test } from "vitest";
import { instructionsIn, preferencesIn } from "./lasting-wishes.ts";

const taught = (text: string) => [...new Set([...instructionsIn(text), ...preferencesIn(text)])];

describe("what a message only shows teaches nothing", () => {
  test.each([
    ["a linter", "lib/cart.rb:12:3: C: Style/Not\nAlways prefer unless over a negated if.\nwhy?"],
    [
      "a compiler",
      "it says\n\nerror[E0382]: borrow of moved value\nNever use a value after its move.",
    ],
    ["a stack", "TypeError: x is undefined\n    at run (a.js:1)\nNever call run before init."],
    ["a package manager", "yarn error An unexpected error\nAlways run yarn install first."],
    ["a shell", "look:\n\n$ terraform apply\nNever interrupt the apply.\n\nis it stuck"],
    [
      "a prompt for another bot",
      "Is this prompt too long?\n\nYou are Pip. Never talk about money. Always rhyme.",
    ],
    ["the same, asked behind it", "You are Pip. Never talk about money.\n\nShorten this prompt."],
    [
      "a guide",
      "What do they mean here, and what does this mean for us?\n\n- Never rebase a shared branch.\n- Always squash.",
    ],
    [
      "a file of rules",
      "Is this CONVENTIONS.md of theirs sane?\nNever use tabs.\nAlways sort imports.",
    ],
    [
      "a recipe",
      "Lentil soup\n200 g lentils\n2 tbsp oil\nAlways rinse the lentils. Never salt them early.",
    ],
    [
      "a text to translate",
      "Translate this into Danish.\n\nNever leave the gate open. Always feed the goat.",
    ],
    ["a log with levels", "FATAL: role is missing\nNever start without a role."],
    [
      "what others wrote",
      "a colleague posted\n\nNever trust a cache. Always measure.\n\nis he right",
    ],
    [
      "instructions of another bot",
      "Improve my bot's instructions\n\nNever swear. Always say hello.",
    ],
    ["a French clause", "Que veut dire ce paragraphe ?\n\nNever sublet. Always pay in advance."],
  ])("%s", (_, text) => expect(taught(text)).toEqual([]));
});

describe("a person's own words beside it do", () => {
  test.each([
    [
      "Never edit the schema by hand.\n\ndb/schema.sql:3: syntax error\nAlways end with a semicolon.",
      "Never edit the schema by hand.",
    ],
    [
      "ValueError: bad date\nNever pass None.\n\nAlways show me the failing input.",
      "Always show me the failing input.",
    ],
    [
      "What does this mean?\n\n[E0001] x\nerror: aborting\nNever retry.\n\nFrom now on build with --locked.",
      "From now on build with --locked.",
    ],
    [
      "Translate this, and never translate the names.\n\nAlways feed the goat, Heidi. It bites.",
      "",
    ],
    [
      "Always answer in short lines.\n\nThis file has a bug, fix it.",
      "Always answer in short lines.",
    ],
    ["Update this README.md.\n\nNever remove the badges.", "Never remove the badges."],
    ["Follow these guidelines:\n- Keep it dry.", "Keep it dry."],
    ["Explain the diff. Never push without my ok.", "Never push without my ok."],
    [
      "Explain this function to me.\nAlways answer in German.\n\nThe callers are tests only.",
      "Always answer in German.",
    ],
    [
      "Summarise this for Ana, please.\nNever name a customer.\n\nThe gate stays open. The goat was fed.",
      "Never name a customer.",
    ],
    ["I changed this function.\n\nNever inline it again.", "Never inline it again."],
    ["Three rules for this codebase:\n- Tests stay offline.", "Tests stay offline."],
  ])("%s", (text, wish) => expect(taught(text)).toEqual(wish === "" ? [] : [wish]));
});
