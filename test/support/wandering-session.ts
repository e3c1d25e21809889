import { ClaudeLines } from "./claude-lines.ts";

/**
 * A session of Claude Code as they are: it begins with a command of the program, files are read with their line numbers,
 * calls fail and are tried again, the model announces each step, and the goal changes twice.
 */
export function wanderingSession(id: string): ClaudeLines {
  const lines = new ClaudeLines(id);
  let count = 0;
  const say = (text: string) => {
    count += 1;
    lines.text(`a${count}`, text);
  };
  const call = (name: string, input: object, result: string, is_error = false) => {
    count += 1;
    lines.call(`a${count}`, `t${count}`, name, input).result(`t${count}`, result, { is_error });
  };
  const edit = (file_path: string) =>
    call(
      "Edit",
      { file_path, old_string: `a${count}`, new_string: "b" },
      "The file has been updated.",
    );
  const read = (file_path: string) => call("Read", { file_path }, numbered(80));

  lines.user("/mode");
  lines.user("The bash tool loses output when a command is killed. Please find out why.");
  read("src/bash-tool.ts");
  say("What is still in the pipe is lost. Now let me update the executeBash method.");
  edit("src/bash-tool.ts");
  call(
    "Bash",
    { command: "npm test" },
    "FAIL bash-tool.test.ts:152:9\nexpected 3 lines, got 2",
    true,
  );
  say("Let me use spawn instead of exec to see whether it helps.");
  edit("src/bash-tool.ts");
  say(
    "We use spawn instead of exec here. That way the pipe is read to its end. Should I add a timeout, or leave that to the caller?",
  );
  lines.user("Leave it to the caller, it has one.");
  say("Good.");
  lines.user("Now tests. i would only want e2e tests for AgentSession, no mocks please");
  call("Write", { file_path: "test/agent-session.e2e.test.ts", content: "x" }, "File created.");
  call("Bash", { command: "npx vitest run e2e" }, "connect ECONNREFUSED 127.0.0.1:8080", true);
  edit("test/setup.ts");
  call("Bash", { command: "npx vitest run e2e" }, "12 passed");
  for (let step = 1; step <= 30; step += 1) {
    lines.user(`Test ${step} is too long, its name should say what session ${step} promises.`);
    edit(`test/agent-session-${step}.e2e.test.ts`);
    say(`Renamed. Next, I will look at lines ${150 + step}, ${151 + step} and ${152 + step}.`);
  }
  lines.user("New topic: the release notes of 2.4. Keep each under two lines.");
  read("CHANGELOG.md");
  const todos = [
    { content: "Collect the merged changes", status: "completed" },
    { content: "Write the notes", status: "in_progress" },
  ];
  call("TodoWrite", { todos }, "ok");
  call("Write", { file_path: "NOTES.md", content: "x" }, "File created.");
  say(
    "I'll keep the old numbering because the links of 2.3 point to it. The statement timeout is 5 s.",
  );
  lines.user("/compact");
  lines.user("Shorter, and the fix of the bash tool first.");
  read("NOTES.md");
  return lines;
}

/** A file as the tool shows it, with the number of each line. */
function numbered(count: number): string {
  const lines = Array.from({ length: count }, (_, line) => `   ${152 + line}→  row(${line}, 24h)`);
  return lines.join("\n");
}
