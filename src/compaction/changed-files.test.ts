import { expect, test } from "vitest";
import type { Message } from "../core/message.ts";
import { withoutEffect } from "./changed-files.ts";

/** Calls with their names as ids: a file that is edited, or a command. One that begins with `!` fails. */
function session(...steps: readonly string[]): readonly Message[] {
  return steps.flatMap((step): readonly Message[] => {
    const [, isFailed = "", text = ""] = /^(!?)(.*)$/s.exec(step) ?? [];
    const use = text.includes(" ")
      ? { id: step, name: "Bash", args: { command: text } }
      : { id: step, name: "Edit", args: { file_path: text } };
    return [
      { role: "assistant", content: "", tool_calls: [use] },
      {
        role: "tool_results",
        results: [{ tool_use_id: step, content: "", is_error: isFailed !== "" }],
      },
    ];
  });
}
const idle = (...steps: readonly string[]) => [...withoutEffect(session(...steps))];

test.each([
  [["api/a.rs", "api/b.rs", "git checkout -- api/a.rs"], ["api/a.rs"]],
  [["/home/x/p/api/a.rs", "git checkout HEAD~1 api/a.rs"], ["/home/x/p/api/a.rs"]],
  [["api/a.rs", "web/a.rs", "cd api && git restore ./a.rs"], ["api/a.rs"]],
  [["api/a.rs", "web/a.rs", "git -C api restore ."], ["api/a.rs"]],
  [["api/a.rs", "web/b.ts", "git restore --staged --worktree api/"], ["api/a.rs"]],
  [["api/a.rs", "git reset --hard && cargo build"], ["api/a.rs"]],
  [["api/a.rs", "git stash -u"], ["api/a.rs"]],
  [["api/a.rs", "web/b.ts", "git stash push -m 'a; b' -- web"], ["web/b.ts"]],
])("git takes changes back: %j", (steps, taken) => {
  expect(idle(...steps)).toEqual(taken);
});

test.each([
  [["api/a.rs", "git checkout main"]],
  [["api/a.rs", "git checkout -b api"]],
  [["api/a.rs", "git restore --staged api/a.rs"]],
  [["api/a.rs", "git reset HEAD api/a.rs"]],
  [["api/a.rs", "git stash", "git pull --rebase", "git stash pop"]],
  [["api/a.rs", "git stash list"]],
  [["api/a.rs", "git add . && git commit -m 'one; git checkout .'", "git checkout ."]],
  [["api/a.rs", "git commit -am one", "git reset --hard"]],
  [["api/a.rs", "echo git checkout-index ."]],
])("these leave them: %j", ([...steps]) => {
  expect(idle(...steps)).toEqual([]);
});

test("a command that fails takes nothing back, and a later change counts", () => {
  expect(idle("api/a.rs", "!git checkout -- api/a.rs")).toEqual(["!git checkout -- api/a.rs"]);
  const messages = [...session("api/a.rs", "git checkout -- api/a.rs")];
  const again: Message = {
    role: "assistant",
    content: "",
    tool_calls: [{ id: "again", name: "Edit", args: { file_path: "api/a.rs" } }],
  };
  expect([...withoutEffect([...messages, again])]).toEqual(["api/a.rs"]);
});

test("an edit that puts the text back takes the first one back", () => {
  const edit = (
    id: string,
    file_path: string,
    old_string: string,
    new_string: string,
  ): Message => ({
    role: "assistant",
    content: "",
    tool_calls: [{ id, name: "Edit", args: { file_path, old_string, new_string } }],
  });
  const there = edit("there", "api/a.rs", "one", "two");
  expect([...withoutEffect([there, edit("back", "api/a.rs", "two", "one")])].sort()).toEqual([
    "back",
    "there",
  ]);
  expect([...withoutEffect([there, edit("on", "api/a.rs", "two", "three")])]).toEqual([]);
  expect([...withoutEffect([there, edit("other", "web/a.rs", "two", "one")])]).toEqual([]);
});
