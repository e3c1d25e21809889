import { SessionError } from "../core/errors.ts";
import type { AgeLimits } from "../core/stores.ts";
import { requireUserName } from "../core/user-name.ts";

/**
 * Namespaces below the one of a project: its trash, and its users. Neither a namespace nor a user has a
 * line break, so no two are the same.
 *
 *     default
 *     default ⏎ trash
 *     default ⏎ user ada
 *     default ⏎ user ada ⏎ trash
 */
export const trashOf = (namespace: string) => `${namespace}\n${TRASH}`;

const TRASH = "trash";
const USER = "user ";

/** @throws SessionError `INVALID_PARAMS` when it is empty or has a line break */
export function requireNamespace(namespace: string): string {
  if (namespace !== "" && !namespace.includes("\n")) return namespace;
  throw new SessionError("INVALID_PARAMS", {
    message: namespace === "" ? "The namespace is empty." : "The namespace has a line break in it.",
    hint: 'Use a name on one line, or leave it out: the default is "default".',
  });
}

type WithUsers<Own> = Own & {
  forUser(user: string): WithUsers<Own>;
  users(): Promise<readonly string[]>;
  usersWithOld?(limits: AgeLimits): Promise<readonly string[]>;
};

/** The namespaces that begin with a text. */
export interface NamespacesBelow {
  /** Those that have something in them. */
  all(start: string): Promise<readonly string[]>;
  /** Those that have something old in them, with trash as `trashOf` names it. */
  withOld?(start: string, limits: AgeLimits): Promise<readonly string[]>;
}

/** The stores of a namespace and of its users. `storesIn` opens those of one namespace. */
export function withUsers<Own>(
  namespace: string,
  storesIn: (namespace: string) => Own,
  below: NamespacesBelow,
): WithUsers<Own> {
  const before = `${namespace}\n${USER}`;
  const withOld = below.withOld;
  return {
    ...storesIn(namespace),
    forUser: (user) => ({
      ...storesIn(before + requireUserName(user)),
      forUser() {
        throw new SessionError("USER_NOT_ALLOWED");
      },
      users: async () => [],
    }),
    async users() {
      const found = await below.all(before);
      return found.map((name) => name.slice(before.length)).filter((name) => !name.includes("\n"));
    },
    ...(withOld
      ? {
          async usersWithOld(limits: AgeLimits) {
            const found = await withOld(before, limits);
            const users = found.map((name) => name.slice(before.length).split("\n", 1).join());
            return [...new Set(users)];
          },
        }
      : {}),
  };
}
