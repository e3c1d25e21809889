import { expect, test } from "vitest";
import { itemView, type OpenAIItem } from "./openai-items.ts";

const BYTES = "A".repeat(1_000_000);
const IMAGE = `data:image/png;base64,${BYTES}`;

test.each<[string, OpenAIItem]>([
  [
    "a PDF of the user",
    {
      role: "user",
      content: [{ type: "input_file", file: `data:application/pdf;base64,${BYTES}` }],
    },
  ],
  [
    "an image from a tool",
    {
      type: "function_call_result",
      callId: "c",
      output: [{ type: "input_image", image: IMAGE }],
    },
  ],
  [
    "a screenshot",
    {
      type: "computer_call_result",
      callId: "c",
      output: { type: "computer_screenshot", data: IMAGE },
    },
  ],
])("%s counts, and not by its bytes", (_, item) => {
  const { opaqueTokens = 0 } = itemView.read(item);
  expect(opaqueTokens).toBeGreaterThan(500);
  expect(opaqueTokens).toBeLessThan(2_000);
});
