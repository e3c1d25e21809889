import { expect, test } from "vitest";
import { bypassProxy } from "./bypass-proxy.ts";

const PROXY = { HTTP_PROXY: "http://proxy.test:3128" };

test.each([
  ["http://127.0.0.1:8080", {}, "127.0.0.1"],
  ["http://localhost:11434/v1", { NO_PROXY: "a.test, b.test" }, "a.test,b.test,localhost"],
  ["http://[::1]:8080", {}, "[::1]"],
  ["http://127.0.0.9", { NO_PROXY: "127.0.0.9" }, "127.0.0.9"],
  ["http://127.0.0.1", { NO_PROXY: "*" }, "*"],
  ["https://api.test", {}, undefined],
  ["http://127.0.0.1.test", {}, undefined],
  ["no address", {}, undefined],
])("%s with %o", (address, given, expected) => {
  const env: Record<string, string | undefined> = { ...PROXY, ...given };
  bypassProxy(address, env);
  bypassProxy(address, env);
  expect(env).toEqual({ ...PROXY, ...(expected === undefined ? {} : { NO_PROXY: expected }) });
});

test("the variable in small letters comes first for Node, so it is the one that changes", () => {
  const env = { http_proxy: "http://proxy.test", no_proxy: "a.test" };
  bypassProxy("http://127.0.0.1", env);
  expect(env).toEqual({ http_proxy: "http://proxy.test", no_proxy: "a.test,127.0.0.1" });
});

test("without a proxy nothing changes", () => {
  const env = {};
  bypassProxy("http://127.0.0.1", env);
  expect(env).toEqual({});
});
