import { expect, test } from "vitest";
import { BadCall, readCall } from "./rpc-message.ts";

const refusal = (request: object) => {
  try {
    return readCall({ jsonrpc: "2.0", method: "session/list", ...request });
  } catch (error) {
    return error;
  }
};

test("a member that no request has is refused by its name, so that a user beside the params is not overlooked", () => {
  const refused = refusal({ id: 1, user: "ada", params: {} });
  expect(refused).toBeInstanceOf(BadCall);
  expect(refused).toMatchObject({
    id: 1,
    error: {
      code: -32600,
      message: 'Invalid Request: "user" is no member of a request; fields go into params.',
    },
  });
  expect(refusal({ id: 1, params: { user: "ada" } })).toMatchObject({ params: { user: "ada" } });
});
