import { eachMatch, type FoundSecret, isSecretValue, matchAt } from "./secret-values.ts";

/** A function or a setting that takes a user and a password, or a key: `auth=(`, `getConnection(`, `basic_auth `. */
const CALL =
  /(auth(?:entication)?|log_?in|sign|hmac|credentials?|connect(?:ion)?|pdo|database|wifi\.begin)\s?(?:=\s?)?[( ]\s{0,3}(?=[^\n]{0,200}["'])/gi;
const ARGUMENT =
  /\s{0,3}(?:"((?:[^"\\\n]|\\.){0,200})"|'((?:[^'\\\n]|\\.){0,200})'|[\w$.:>@-]{1,60}(?:\([^()\n]{0,60}\))?)\s{0,3}/y;
const ARGUMENTS_MAX = 5;
/** An address, a path or a file, which stand beside them. */
const PLACE = /^[^@\s]+@[\w.-]+\.\w+$|:\/\/|^[/.~]|^[\w.-]+:\d+$|\.[a-z]{2,4}$/i;

/** Finds passwords among the arguments of functions: `login("ada", "…")`, `getConnection(url, "app", "…")`. */
export function addFromCalls(text: string, found: FoundSecret[]): void {
  eachMatch(CALL, text, (call) => {
    // Behind a host or an address stands the user first.
    const first = /^(?:connect|pdo|database)/i.test(call[1] ?? "") ? 2 : 1;
    let at = call.index + call[0].length;
    for (let index = 0; index < ARGUMENTS_MAX; index += 1) {
      const argument = matchAt(ARGUMENT, text, at);
      if (!argument) return;
      const value = argument[1] ?? argument[2];
      if (index >= first && value !== undefined && isPassword(value)) {
        const start = at + argument[0].indexOf(value);
        found.push({ kind: "password", start, end: start + value.length });
      }
      at += argument[0].length;
      if (text[at] !== ",") return;
      at += 1;
    }
  });
}

function isPassword(value: string): boolean {
  return isSecretValue(value, true, "loose") && !PLACE.test(value);
}
