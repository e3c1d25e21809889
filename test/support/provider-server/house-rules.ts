import { type Json, listOf } from "./reply.ts";

/** The refusals of single servers, by the name of the model, and those of a filter of content, in their words. */
export function problemOfHouse(body: Json): string | undefined {
  if (JSON.stringify(body).includes("[forbidden]")) {
    return "The request was rejected because it was considered high risk";
  }
  const said = listOf(body.messages).filter(({ role }) => role === "assistant");
  switch (body.model) {
    case "cerebras":
      return said.some((message) => "reasoning_content" in message)
        ? "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported"
        : undefined;
    case "deepseek":
      return said.every(({ reasoning_content }) => reasoning_content)
        ? undefined
        : "The `reasoning_content` in the thinking mode must be passed back to the API.";
    case "mistral": {
      const ids = said.flatMap(({ tool_calls }) => listOf(tool_calls).map(({ id }) => String(id)));
      const wrong = ids.find((id) => !/^[a-z0-9]{9}$/i.test(id));
      return wrong === undefined
        ? undefined
        : `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`;
    }
    default:
      return undefined;
  }
}
