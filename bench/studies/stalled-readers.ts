import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { spawn } from "../../test/support/start-process.ts";
import { RKAT } from "../programs.ts";

/**
 * The memory of `rkat serve` while many clients open an event stream and never read it. On Linux,
 * after `node build.ts`:
 *
 *     node bench/studies/stalled-readers.ts [--readers 1500] [--events 100] [--bytes 21000] [--sessions 1] [--flags "…"]
 *
 * `--flags` are flags of Node for the server. It prints the resident memory in MB: before the events, at its
 * peak, and ten seconds after the last event.
 */
const { values } = parseArgs({
  options: {
    readers: { type: "string", default: "1500" },
    events: { type: "string", default: "100" },
    bytes: { type: "string", default: "21000" },
    sessions: { type: "string", default: "1" },
    flags: { type: "string", default: "" },
  },
});
const [readers, events, bytes, sessions] = [
  Number(values.readers),
  Number(values.events),
  Number(values.bytes),
  Number(values.sessions),
];

const folder = mkdtempSync(join(tmpdir(), "rkat-stalled-"));
const flags = values.flags === "" ? [] : values.flags.split(" ");
const server = spawn(
  process.execPath,
  [...flags, ...RKAT, "serve", "--port", "0", "--dir", folder],
  { stdio: ["ignore", "pipe", "pipe"], env: { HOME: folder } },
);
server.stderr.pipe(process.stderr);
const url = await new Promise<string>((resolve) => {
  for (const from of [server.stdout, server.stderr]) {
    createInterface({ input: from }).on("line", (line) => {
      const found = /http:\/\/[\d.]+:\d+/.exec(line);
      if (found) resolve(found[0]);
    });
  }
});

const post = async (path: string, body: unknown) => {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as { readonly session_id: string };
};

const ids: string[] = [];
for (let count = 0; count < sessions; count += 1)
  ids.push((await post("/sessions", {})).session_id);
const sockets: Socket[] = [];
const { port } = new URL(url);
for (let count = 0; count < readers; count += 1) {
  const socket = connect({ port: Number(port), host: "127.0.0.1" }).on("error", () => {});
  await once(socket, "connect");
  socket.pause();
  socket.write(`GET /sessions/${ids[count % sessions]}/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
  sockets.push(socket);
}
await new Promise((resolve) => setTimeout(resolve, 2000));
const before = resident("VmRSS");
const start = performance.now();
const content = [{ type: "text", text: "x".repeat(bytes) }];
for (let count = 0; count < events; count += 1) {
  for (const id of ids) {
    await post(`/sessions/${id}/append`, { messages: [{ role: "user", content }] });
  }
}
const seconds = (performance.now() - start) / 1000;
await new Promise((resolve) => setTimeout(resolve, 10_000));
console.log({ before, peak: resident("VmHWM"), after: resident("VmRSS"), seconds });
for (const socket of sockets) socket.destroy();
server.kill("SIGTERM");
await once(server, "close");
rmSync(folder, { recursive: true });

function resident(field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
}
