import { SessionError } from "./errors.ts";

export const USER_CHARACTERS_MAX = 200;

/**
 * No control characters: they could make one name look like another namespace. No half of a surrogate
 * pair: it would be another text in a database.
 */
export const USER_NAME = /^[^\p{Cc}\p{Cs}]+$/u;
export const USER_NAME_PROBLEM = "must not have control characters or broken characters";

/**
 * The name of a user, for what must not load the schemas of requests.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function requireUserName(user: string): string {
  if (typeof user !== "string") {
    throw new SessionError("INVALID_PARAMS", { message: "user: it has to be a text." });
  }
  const isRightSize = user.length > 0 && user.length <= USER_CHARACTERS_MAX;
  if (isRightSize && USER_NAME.test(user)) return user;
  const problem = isRightSize
    ? USER_NAME_PROBLEM
    : `must have 1 to ${USER_CHARACTERS_MAX} characters`;
  throw new SessionError("INVALID_PARAMS", { message: `user: ${problem}.` });
}
