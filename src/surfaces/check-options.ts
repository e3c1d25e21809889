import {
  amount,
  type Check,
  type Checks,
  callback,
  duration,
  flag,
  group,
  having,
  is,
  listOf,
  oneOf,
  recordOf,
  requireOptions,
  service,
  someText,
  text,
  whole,
} from "../core/options.ts";

// The options of the functions that serve a service, and of those that connect to one.

/** A token or a variable of the environment. What was given is not shown: it may be a secret of another type. */
const secret: Check = (value) =>
  typeof value === "string" ? [] : [{ path: [], message: "it has to be a text" }];

/** An address may have a password, so it is not shown either. */
const address: Check = (value) =>
  typeof value === "string" && /^https?:/i.test(value) && URL.canParse(value)
    ? []
    : [{ path: [], message: "it has to be an address that begins with http:// or https://" }];

const urlOrAddress: Check = (value) => address(value instanceof URL ? value.href : value);

const port = is(
  "a port, a whole number from 0 to 65535",
  (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535,
);
const names = listOf(text);
const input = having("on", "destroy");
const output = having("on", "write", "end");
const signal = having("addEventListener");

const tokens = recordOf(secret);
const TOKENS: Checks = {
  token: secret,
  userTokens: (value) => (typeof value === "function" ? [] : tokens(value)),
};
const PLACE: Checks = { port, host: text };

const LIMITS: Checks = {
  bodyBytesMax: amount,
  allBodiesBytesMax: amount,
  importBytesMax: amount,
  importsMax: amount,
  turnsMax: amount,
  streamsMax: amount,
  heartbeatMs: duration,
  stallMs: duration,
};

const REST: Checks = {
  ...TOKENS,
  service,
  version: someText,
  hosts: names,
  cors: names,
  limits: group(LIMITS),
  metrics: callback,
  ready: callback,
  onError: callback,
};

const MCP: Checks = { service, tools: names, instructions: someText, version: someText };

const JSON_RPC: Checks = {
  service,
  input,
  output,
  signal,
  config: callback,
  version: someText,
  lineBytesMax: whole(1),
  turnsMax: amount,
  drainMs: duration,
  graceMs: duration,
};

const PROGRAM: Checks = {
  command: text,
  args: listOf(someText),
  cwd: text,
  env: recordOf((value) => (value === undefined ? [] : secret(value))),
};

const CHECKS = {
  serveRest: group({ ...REST, ...PLACE }, ["service"]),
  createRestApp: group({ ...REST, anyAddress: flag }, ["service"]),
  connectRest: group({ url: address, token: secret, fetch: callback }, ["url"]),
  createMcpServer: group(MCP, ["service"]),
  serveMcpStdio: group({ ...MCP, input, output, signal }, ["service"]),
  serveMcpHttp: group(
    {
      ...MCP,
      ...TOKENS,
      ...PLACE,
      hosts: names,
      origins: names,
      transportSessionsMax: amount,
      transportSessionIdleMs: duration,
    },
    ["service"],
  ),
  connectMcp: either("url", {
    with: group({ url: urlOrAddress, token: secret, era: oneOf("legacy", "modern", "auto") }),
    without: group(PROGRAM),
  }),
  serveJsonRpc: group(JSON_RPC, ["service", "input", "output"]),
  connectJsonRpc: either("input", {
    with: group({ input, output }, ["input", "output"]),
    without: group(PROGRAM),
  }),
} satisfies Readonly<Record<string, Check>>;

/** One check for what has a field, and another for what has not. */
function either(field: string, checks: { readonly with: Check; readonly without: Check }): Check {
  return (value) => {
    const has = typeof value === "object" && value !== null && field in value;
    return (has ? checks.with : checks.without)(value);
  };
}

/** @throws SessionError `INVALID_PARAMS`, which names each wrong or unknown option and what is allowed */
export function checkSurfaceOptions(of: keyof typeof CHECKS, options: unknown): void {
  requireOptions(of, CHECKS[of], options);
}
