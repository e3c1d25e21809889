import fc from "fast-check";
import { chatgptFormat, claudeAiFormat } from "../../src/transcripts/chat-exports.ts";
import { codexFormat } from "../../src/transcripts/codex/codex-format.ts";
import { geminiFormat } from "../../src/transcripts/gemini-format.ts";
import type { ImportFormat } from "../../src/transcripts/imported.ts";
import { piFormat } from "../../src/transcripts/pi-format.ts";

/** What may happen next in a conversation. */
export type TalkStep =
  | { readonly does: "ask" | "inject" | "compact" | "note" }
  | { readonly does: "answer"; readonly calls: number; readonly thinks: boolean }
  /** The user takes back the last prompts, or edits one. */
  | { readonly does: "back"; readonly turns: number };

const ask: fc.Arbitrary<TalkStep> = fc.constant({ does: "ask" });
const answer: fc.Arbitrary<TalkStep> = fc.record({
  ...{ does: fc.constant("answer" as const), calls: fc.nat(3), thinks: fc.boolean() },
});
const other: fc.Arbitrary<TalkStep> = fc.record({
  does: fc.constantFrom("inject", "compact", "note"),
});
const back: fc.Arbitrary<TalkStep> = fc.record({
  does: fc.constant("back" as const),
  turns: fc.integer({ min: 1, max: 3 }),
});

/** Random steps. With `branches`, the user takes back what was said now and then. */
export function talkSteps({ branches }: { readonly branches: boolean }) {
  const weighted = [
    { weight: 5, arbitrary: ask },
    { weight: 6, arbitrary: answer },
    { weight: 4, arbitrary: other },
    ...(branches ? [{ weight: 2, arbitrary: back }] : []),
  ];
  return fc
    .array(fc.oneof(...weighted), { minLength: 1, maxLength: 30 })
    .map((steps): readonly TalkStep[] => [{ does: "ask" }, ...steps]);
}

/** A conversation as its program writes it. */
export interface WrittenTalk {
  /** One a line; the conversation itself for an export. */
  readonly values: readonly object[];
  /** What a person typed and did not take back. */
  readonly typed: readonly string[];
  /** What the program put in. */
  readonly injected: readonly string[];
}

/** How an agent writes a conversation. */
export interface TalkWriter {
  readonly format: ImportFormat;
  readonly path: string;
  /** An export is a list, which is written as a whole. */
  readonly isList?: true;
  write(steps: readonly TalkStep[]): WrittenTalk;
}

const START = Date.UTC(2026, 4, 1, 10);
const CODEX_ID = "019a0c1e-1111-7222-8333-aaaaaaaaaaaa";

/** What was said so far, and a number for each thing. */
class Script {
  readonly injected: string[] = [];
  #typed: string[] = [];
  #count = 0;

  get typed(): readonly string[] {
    return this.#typed;
  }

  number(): number {
    this.#count += 1;
    return this.#count;
  }

  time(): string {
    return new Date(START + 1000 * this.#count).toISOString();
  }

  ask(): string {
    const text = `Prompt ${this.number()}, <b>word</b> for word.`;
    this.#typed.push(text);
    return text;
  }

  inject(): string {
    const text = `INJECTED ${this.number()}.`;
    this.injected.push(text);
    return text;
  }

  takeBack(turns: number): void {
    this.#typed = this.#typed.slice(0, -turns);
  }
}

const TAGS = ["environment_context", "turn_aborted", "user_instructions", "skill"];

/** An event comes before its item, or after it, and after the first answer no item has one that was injected. */
const codexWriter: TalkWriter = {
  format: codexFormat,
  path: `sessions/2026/05/01/rollout-2026-05-01T10-00-00-${CODEX_ID}.jsonl`,
  write(steps) {
    const script = new Script();
    const values: object[] = [];
    const add = (type: string, payload: object) =>
      values.push({ timestamp: script.time(), type, payload });
    const say = (role: string, text: string) =>
      add("response_item", { type: "message", role, content: [{ type: "input_text", text }] });
    add("session_meta", { id: CODEX_ID, timestamp: script.time(), cwd: "/home/ada" });
    for (const step of steps) {
      switch (step.does) {
        case "ask": {
          const message = script.ask();
          const isFirst = script.typed.length % 2 === 0;
          add("turn_context", { turn_id: `t${script.number()}`, model: "gpt-5" });
          if (isFirst) add("event_msg", { type: "user_message", message });
          say("user", message);
          if (!isFirst) add("event_msg", { type: "user_message", message });
          break;
        }
        case "inject": {
          const text = script.inject();
          const tag = TAGS[text.length % TAGS.length];
          say("user", `<${tag}>${text}</${tag}>`);
          break;
        }
        case "answer": {
          const number = script.number();
          if (step.thinks) {
            const summary = [{ type: "summary_text", text: `Hmm ${number}` }];
            add("response_item", { type: "reasoning", summary });
          }
          for (let call = 0; call < step.calls; call += 1) {
            const call_id = `call_${number}_${call}`;
            add("response_item", { type: "function_call", name: "f", arguments: "{}", call_id });
            const output = `out ${call_id}`;
            add("response_item", { type: "function_call_output", call_id, output });
          }
          add("event_msg", { type: "agent_message", message: `Answer ${number}` });
          say("assistant", `Answer ${number}`);
          break;
        }
        case "compact":
          add("compacted", { message: script.inject() });
          break;
        case "note":
          add("event_msg", { type: "token_count", info: null });
          break;
        case "back":
          script.takeBack(step.turns);
          add("event_msg", { type: "thread_rolled_back", num_turns: step.turns });
      }
    }
    return { values, typed: script.typed, injected: script.injected };
  },
};

/** A message is written again when its calls have results. */
const geminiWriter: TalkWriter = {
  format: geminiFormat,
  path: "tmp/x/chats/session-2026-05-01T10-00-s.jsonl",
  write(steps) {
    const script = new Script();
    const values: object[] = [
      { sessionId: "s", projectHash: "x", startTime: script.time(), directories: ["/home/ada"] },
    ];
    const prompts: string[] = [];
    const say = (type: string, content: unknown, more: object = {}) => {
      const id = `m${script.number()}`;
      values.push({ id, timestamp: script.time(), type, content, ...more });
      return id;
    };
    for (const step of steps) {
      switch (step.does) {
        case "ask":
          prompts.push(say("user", [{ text: script.ask() }]));
          break;
        case "inject":
          say("user", [{ text: `<session_context>${script.inject()}</session_context>` }]);
          break;
        case "answer": {
          const calls = Array.from({ length: step.calls }, (_, index) => ({
            ...{ id: `c${script.number()}-${index}`, name: "f", args: {} },
          }));
          const thoughts = step.thinks ? [{ subject: "Plan", description: "Hmm." }] : [];
          const before = {
            thoughts,
            toolCalls: calls.map((one) => ({ ...one, status: "executing" })),
          };
          const id = say("gemini", `Answer ${script.number()}`, before);
          if (calls.length === 0) break;
          const done = calls.map((one) => ({
            ...{ ...one, status: "success" },
            result: [{ functionResponse: { id: one.id, response: { output: `out ${one.id}` } } }],
          }));
          values.push({ ...(values.at(-1) as object), id, toolCalls: done });
          break;
        }
        case "compact":
          say("user", `<state_snapshot>${script.inject()}</state_snapshot>`);
          break;
        case "note":
          values.push({ $set: { lastUpdated: script.time(), summary: "A talk" } });
          break;
        case "back": {
          const to = prompts.splice(-step.turns)[0];
          script.takeBack(step.turns);
          if (to !== undefined) values.push({ $rewindTo: to });
        }
      }
    }
    return { values, typed: script.typed, injected: script.injected };
  },
};

const piWriter: TalkWriter = {
  format: piFormat,
  path: "sessions/--home-ada--/2026-05-01_s.jsonl",
  write(steps) {
    const script = new Script();
    const timestamp = script.time();
    const values: object[] = [
      { type: "session", version: 3, id: "s", timestamp, cwd: "/home/ada" },
    ];
    let parentId: string | null = null;
    const above: (string | null)[] = [];
    const add = (type: string, fields: object) => {
      const id = `e${script.number()}`;
      values.push({ type, id, parentId, timestamp: script.time(), ...fields });
      parentId = id;
    };
    const say = (message: object) => add("message", { message });
    for (const step of steps) {
      switch (step.does) {
        case "ask":
          above.push(parentId);
          say({ role: "user", content: [{ type: "text", text: script.ask() }] });
          break;
        case "inject":
          if (script.number() % 2 === 0) say({ role: "custom", content: script.inject() });
          else say({ role: "bashExecution", command: "ls", output: script.inject() });
          break;
        case "answer": {
          const ids = Array.from(
            { length: step.calls },
            (_, index) => `c${script.number()}-${index}`,
          );
          const thinking = step.thinks ? [{ type: "thinking", thinking: "Hmm." }] : [];
          const calls = ids.map((id) => ({ type: "toolCall", id, name: "f", arguments: {} }));
          const text = { type: "text", text: `Answer ${script.number()}` };
          say({ role: "assistant", model: "claude", content: [...thinking, text, ...calls] });
          for (const toolCallId of ids) {
            say({
              role: "toolResult",
              toolCallId,
              content: [{ type: "text", text: `out ${toolCallId}` }],
            });
          }
          break;
        }
        case "compact":
          add("compaction", { summary: script.inject(), tokensBefore: 9 });
          break;
        case "note":
          add("thinking_level_change", { thinkingLevel: "high" });
          break;
        case "back": {
          const to = above.splice(-step.turns)[0];
          if (to === undefined) break;
          script.takeBack(step.turns);
          parentId = to;
          // The new branch has a first entry.
          add("label", { label: "again" });
        }
      }
    }
    return { values, typed: script.typed, injected: script.injected };
  },
};

const chatgptWriter: TalkWriter = {
  format: chatgptFormat,
  path: "conversations.json",
  isList: true,
  write(steps) {
    const script = new Script();
    const mapping: Record<string, object> = { root: { id: "root", parent: null, message: null } };
    let current = "root";
    const above: string[] = [];
    const say = (role: string, content: object, more: object = {}) => {
      const id = `n${script.number()}`;
      const create_time = START / 1000 + script.number();
      const author = { role, name: role === "tool" ? "f" : null };
      const message = { id, author, create_time, content, weight: 1, recipient: "all", ...more };
      mapping[id] = { id, parent: current, children: [], message };
      current = id;
    };
    const text = (said: string) => ({ content_type: "text", parts: [said] });
    for (const step of steps) {
      switch (step.does) {
        case "ask":
          above.push(current);
          say("user", text(script.ask()));
          break;
        case "inject": {
          const content = { content_type: "user_editable_context", user_profile: script.inject() };
          say("user", content, { metadata: { is_visually_hidden_from_conversation: true } });
          break;
        }
        case "compact":
          say("system", text(script.inject()), { weight: 0 });
          break;
        case "answer":
          if (step.thinks) {
            say("assistant", {
              content_type: "thoughts",
              thoughts: [{ summary: "Hmm", content: "" }],
            });
          }
          for (let call = 0; call < step.calls; call += 1) {
            say("assistant", { content_type: "code", text: "f()" }, { recipient: "f" });
            say("tool", { content_type: "execution_output", text: `out ${script.number()}` });
          }
          say("assistant", text(`Answer ${script.number()}`));
          break;
        case "note":
          mapping[`n${script.number()}`] = { id: "empty", parent: current, message: null };
          break;
        case "back": {
          const to = above.splice(-step.turns)[0];
          if (to === undefined) break;
          script.takeBack(step.turns);
          current = to;
        }
      }
    }
    const values = [{ id: "c", title: "A talk", current_node: current, mapping }];
    return { values, typed: script.typed, injected: script.injected };
  },
};

const claudeAiWriter: TalkWriter = {
  format: claudeAiFormat,
  path: "conversations.json",
  isList: true,
  write(steps) {
    const script = new Script();
    const messages: object[] = [];
    let parent = "00000000-0000-4000-8000-000000000000";
    const above: string[] = [];
    const say = (sender: string, content: readonly object[], more: object = {}) => {
      const uuid = `m${script.number()}`;
      const created_at = script.time();
      messages.push({ uuid, sender, parent_message_uuid: parent, content, created_at, ...more });
      parent = uuid;
    };
    const text = (said: string) => ({ type: "text", text: said });
    for (const step of steps) {
      switch (step.does) {
        case "ask":
          above.push(parent);
          say("human", [text(script.ask())]);
          break;
        case "inject":
        case "compact": {
          const attachments = [{ file_name: "a.txt", extracted_content: script.inject() }];
          above.push(parent);
          say("human", [text(script.ask())], { attachments });
          break;
        }
        case "answer": {
          const thinking = step.thinks ? [{ type: "thinking", thinking: "Hmm." }] : [];
          const calls = Array.from({ length: step.calls }, () => [
            { type: "tool_use", name: "f", input: {} },
            { type: "tool_result", name: "f", content: [text(`out ${script.number()}`)] },
          ]);
          say("assistant", [...thinking, ...calls.flat(), text(`Answer ${script.number()}`)]);
          break;
        }
        case "note":
          break;
        case "back": {
          const to = above.splice(-step.turns)[0];
          if (to === undefined) break;
          script.takeBack(step.turns);
          parent = to;
          above.push(parent);
          say("human", [text(script.ask())]);
        }
      }
    }
    const values = [{ uuid: "c", name: "A talk", chat_messages: messages }];
    return { values, typed: script.typed, injected: script.injected };
  },
};

export const TALK_WRITERS: readonly TalkWriter[] = [
  codexWriter,
  geminiWriter,
  piWriter,
  chatgptWriter,
  claudeAiWriter,
];

/** The bytes of a conversation. */
export function talkBytes({ isList }: TalkWriter, values: readonly object[]): Buffer {
  if (isList) return Buffer.from(JSON.stringify(values));
  return Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}
