import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { connectMcp } from "../src/mcp.ts";
const place = mkdtempSync("/tmp/kk-");
const era = process.argv[2] as "modern";
const child = spawn(process.execPath, [new URL("./support/serve-scripted-mcp.ts", import.meta.url).pathname, place, JSON.stringify({capabilities:["session-store"],replies:[{text:"never",delayMs:60000}]}), "{}"], {stdio:["ignore","pipe","inherit"]});
const [line] = await once(child.stdout, "data");
const s = await connectMcp({ url: String(line).trim(), era });
const { sessionId } = await s.createSession({});
console.log("created");
try { await s.startTurn({sessionId, prompt:"x"}, {onEvent(e){ console.log(e.payload.type); if (e.payload.type==="turn_started") child.kill("SIGKILL"); }}); } catch (e) { console.log("ERR", String(e)); }
await s.close(); console.log("closed");
