import { expect, test } from "vitest";
import type { Message } from "../core/message.ts";
import { AcceptedHistories } from "./accepted-histories.ts";

const photo = (data: string): Message => ({
  role: "user",
  content: [
    { type: "text", text: `What is on ${data}?` },
    { type: "image", media_type: "image/png", data },
  ],
});
const HISTORY: readonly Message[] = [
  photo("the first"),
  photo("the second"),
  { role: "user", content: "And now?" },
];

const refusal = (message: string) => Object.assign(new Error(message), { statusCode: 400 });

/** A server that refuses what has one of these, and keeps what it was sent. */
function server(message: string, ...refused: readonly string[]) {
  const sent: string[] = [];
  const ask = async (messages: readonly Message[]) => {
    const text = JSON.stringify(messages);
    sent.push(text);
    if (refused.some((data) => text.includes(`"data":"${data}"`))) throw refusal(message);
    return "accepted";
  };
  return { sent, ask };
}

test("of the images, only the newest is left out when that is enough, and for this model only", async () => {
  const histories = new AcceptedHistories();
  const { sent, ask } = server("Could not process image", "the second");
  expect(await histories.send("a/small", HISTORY, ask)).toBe("accepted");
  expect(sent).toHaveLength(2);
  expect(sent[1]).toContain('"data":"the first"');
  expect(await histories.send("a/small", HISTORY, ask)).toBe("accepted");
  expect(sent).toHaveLength(3);
  const other = server("Could not process image");
  await histories.send("a/large", HISTORY, other.ask);
  expect(other.sent[0]).toContain('"data":"the second"');
});

test("a model without images is asked three times, however many there are", async () => {
  const { sent, ask } = server("This model does not support images", "the first", "the second");
  expect(await new AcceptedHistories().send("a/blind", HISTORY, ask)).toBe("accepted");
  expect(sent).toHaveLength(3);
  expect(sent[2]).not.toContain('"data"');
});

test("nothing is left out later when that did not help, and the refusal is told", async () => {
  const histories = new AcceptedHistories();
  const sent: string[] = [];
  const ask = async (messages: readonly Message[]) => {
    sent.push(JSON.stringify(messages));
    throw refusal("Could not process image");
  };
  for (const _ of [1, 2]) {
    await expect(histories.send("a/b", HISTORY, ask)).rejects.toThrow("Could not process image");
  }
  expect(sent[3]).toBe(JSON.stringify(HISTORY));
});

test.each([
  "messages.1.content.1.image.source.base64: The image was specified using the image/png media type, but the image appears to be a image/jpeg image",
  "messages.8.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
  "Unable to download the file. Please verify the URL and try again.",
  "Timeout while downloading https://example.com/a.png.",
  "Unsupported MIME type: image/jpg",
  "At most 1 image(s) may be provided in one prompt.",
  "Invalid value at 'contents[0].parts[1].inline_data.data' (TYPE_BYTES), Base64 decoding failed",
])("what a provider cannot read of an image is no end of a session: %s", async (message) => {
  const { ask } = server(message, "the first");
  expect(await new AcceptedHistories().send("a/b", HISTORY, ask)).toBe("accepted");
});

test("another refusal is told at once, and so is that of the newest prompt's image", async () => {
  for (const [message, history] of [
    ["temperature: out of range", HISTORY],
    ["Could not process image", [photo("the first")]],
  ] as const) {
    const { sent, ask } = server(message, "the first");
    await expect(new AcceptedHistories().send("a/b", history, ask)).rejects.toThrow(message);
    expect(sent).toHaveLength(1);
  }
});

test.each([
  "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
  "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.",
  "Content Exists Risk",
  "The request was rejected because it was considered high risk",
  "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
])("of what nobody answered, a filter takes the newest at first: %s", async (message) => {
  const prompts = ["answered", "older", "newer", "now"].map(
    (content): Message => ({ role: "user", content }),
  );
  const [answered, ...more] = prompts as [Message, ...Message[]];
  const history = [answered, { role: "assistant" as const, content: "ok" }, ...more];
  const ask = (refused: string) => {
    const sent: string[] = [];
    const answer = async (messages: readonly Message[]) => {
      sent.push(JSON.stringify(messages));
      if (sent.at(-1)?.includes(refused)) throw refusal(message);
    };
    return new AcceptedHistories().send("a/b", history, answer).then(
      () => sent.at(-1) ?? "",
      () => `refused ${sent.length} times`,
    );
  };
  expect(await ask("newer")).toMatch(/answered.*older.*the provider refused.*now/);
  expect(await ask("older")).toMatch(/answered.*the provider refused.*the provider refused.*now/);
  expect(await ask("now")).toBe("refused 3 times");
});

test("a call without the reasoning that OpenAI signed it with goes without its id", async () => {
  const data = { id: "a", name: "read", args: {}, meta: { provider: "open_ai", itemId: "fc_0" } };
  const history: Message[] = [
    {
      role: "block_assistant",
      blocks: [{ block_type: "tool_use", data }],
      stop_reason: "tool_use",
    },
    { role: "user", content: "And now?" },
  ];
  const sent: string[] = [];
  await new AcceptedHistories().send("a/b", history, async (messages) => {
    sent.push(JSON.stringify(messages));
    if (!sent.at(-1)?.includes("fc_0")) return;
    throw refusal(
      "Item 'fc_0' of type 'function_call' was provided without its required 'reasoning' item: 'rs_0'.",
    );
  });
  expect(sent.at(-1)).not.toContain("fc_0");
});

test("a server that refuses whatever it gets is asked no more than eight times", async () => {
  const history: Message[] = [
    { role: "assistant", content: "Hi." },
    { role: "user", content: "And now?" },
  ];
  let asked = 0;
  const ask = async () => {
    asked += 1;
    throw refusal(asked % 2 ? "reasoning_content is missing" : "reasoning_content is unsupported");
  };
  await expect(new AcceptedHistories().send("a/b", history, ask)).rejects.toThrow();
  expect(asked).toBeLessThanOrEqual(8);
});
