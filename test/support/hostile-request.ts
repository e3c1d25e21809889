/** Bytes for an HTTP server, made of a seed. */
export interface HostileRequest {
  readonly bytes: Buffer;
  /** Whether the client ends its side after sending, so that the server need not wait for more. */
  readonly leaves: boolean;
  /** Whether the bytes are so little HTTP that closing the connection is an answer. */
  readonly mayClose: boolean;
}

const METHODS = ["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS", "TRACE", "PATCH", "BREW"];
const HEADERS = [
  "Host: evil.example",
  "Origin: https://evil.example",
  "Authorization: Bearer x",
  "Content-Type: text/plain",
  "Content-Type: application/json; charset=utf-16",
  "Content-Encoding: gzip",
  "Expect: 100-continue",
  "Upgrade: websocket\r\nConnection: Upgrade",
  "Last-Event-ID: -1",
  "Last-Event-ID: 1e99",
  "Accept: text/event-stream",
  "Accept: */*;q=0",
  "Range: bytes=0-",
  "Cookie: a=b",
  "X-Forwarded-Host: evil.example",
  "__proto__: x",
  "Connection: close",
];
const QUERIES = [
  "",
  "?",
  "?limit=1",
  "?limit=1&limit=2",
  "?limit=NaN",
  "?limit=-1",
  "?limit=99999999999999999999",
  "?label=a",
  "?label==b",
  "?label=__proto__=x",
  "?labels={",
  "?labels=[]",
  '?labels={"a":{"b":1}}',
  "?__proto__=x",
  "?constructor=x",
  "?query=%00&query=%ff",
  "?query=fox&since=yesterday",
  "?query=AND%20OR%20NOT%20NEAR%28%22",
  "?after_seq=abc",
  "?after_seq=-5",
  "?%E0%A4%A",
];
const VALUES = [
  "null",
  "true",
  "-1",
  "1e999",
  '""',
  '"\\ud800"',
  '"\\u0000"',
  "[]",
  "{}",
  '{"__proto__":{"polluted":1}}',
  '[{"role":"user","content":"x"}]',
  '[{"role":"system"}]',
  `"${"x".repeat(5000)}"`,
  `${"[".repeat(2000)}${"]".repeat(2000)}`,
];
const FIELDS = [
  "prompt",
  "session_id",
  "sessionId",
  "model",
  "max_tokens",
  "budget",
  "compaction",
  "labels",
  "messages",
  "context",
  "origin",
  "memory",
  "system_prompt",
  "instructions",
  "__proto__",
  "constructor",
  "toString",
];

/** A request that somebody might send who means no good; the same one for the same seed. */
export function hostileRequest(seed: number, sessionId: string): HostileRequest {
  const random = randomFrom(seed);
  const pick = <Item>(items: readonly Item[]) => items[random(items.length)] as Item;
  if (random(8) === 0) {
    const bytes = Buffer.from(Array.from({ length: 1 + random(500) }, () => random(256)));
    return { bytes, leaves: true, mayClose: true };
  }
  // Only what begins no turn: those are not hostile, and there would be thousands.
  const ids = ["nobody", "%2e%2e", "..", "%00", "%ff", "a%2Fb", "x".repeat(300), sessionId];
  const id = pick(ids);
  const paths = [
    "/",
    "/health",
    "/openapi.json",
    "/sessions",
    "/sessions/",
    `/sessions/${id}`,
    `/sessions/${pick(ids.slice(0, -1))}/messages`,
    `/sessions/${pick(ids.slice(0, -1))}/resume`,
    `/sessions/${id}/events`,
    `/sessions/${id}/interrupt`,
    `/sessions/${pick(ids.slice(0, -1))}/archive`,
    "/memory/search",
    "/history/search",
    "/capabilities",
    "//sessions",
    "/sessions/../../etc/passwd",
    "http://evil.example/",
    "http://localhost/health",
    "*",
  ];
  const path = pick(paths);
  const method = path === `/sessions/${sessionId}` ? pick(["GET", "PUT", "POST"]) : pick(METHODS);
  const body = random(3) === 0 ? "" : bodyFrom(random, pick);
  const length = Buffer.byteLength(body);
  const chunked = random(30) === 0;
  const headers = [
    random(10) === 0 ? "" : "Host: 127.0.0.1",
    ...Array.from({ length: random(4) }, () => pick(HEADERS)),
    ...(length > 0 || random(2) === 0 ? [`Content-Length: ${length}`] : []),
    ...(random(2) === 0 ? ["Content-Type: application/json"] : []),
    ...(chunked ? ["Transfer-Encoding: chunked"] : []),
    ...(random(30) === 0 ? [`X-Long: ${"x".repeat(random(40_000))}`] : []),
  ].filter((header) => header !== "");
  const head = `${method} ${path}${pick(QUERIES)} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`;
  const whole = Buffer.from(head + body);
  // Some stop in the middle, and some have a byte that is another.
  const cut = random(10) === 0;
  const bytes = cut ? whole.subarray(0, 1 + random(whole.length)) : whole;
  const flipped = random(10) === 0;
  if (flipped) bytes[random(bytes.length)] = random(256);
  // What is not all there, or says that it comes in chunks which it does not, has no end to wait for.
  const incomplete = cut || flipped || chunked;
  return { bytes, leaves: incomplete, mayClose: incomplete };
}

function bodyFrom(
  random: (below: number) => number,
  pick: <Item>(items: readonly Item[]) => Item,
): string {
  if (random(6) === 0) return pick(VALUES);
  if (random(6) === 0) return `{"a":`;
  const fields = Array.from({ length: random(5) }, () => `"${pick(FIELDS)}":${pick(VALUES)}`);
  return `{${fields.join(",")}}`;
}

/** Numbers from 0 to below, as mulberry32 makes them. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
