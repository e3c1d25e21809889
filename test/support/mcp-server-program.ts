import { writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Writes an MCP server as a program of one file that needs no package, and returns its path. Its tools: `echo` says its
 * argument and `TOKEN` of the environment, `long` answers with many letters, `die` ends the program, `hang` never
 * answers, `fail` fails, `grow` adds the tool that its argument names, `shrink` takes it away, `ask` asks its client what the
 * argument says, and answers what it was told. `argument` decides more: `silent` answers nothing, `gone` ends at once with
 * a line of stderr, `teaches` says how its tools are used.
 */
export function mcpServerProgram(folder: string): string {
  const file = join(folder, "server.mjs");
  writeFileSync(file, PROGRAM);
  return file;
}

const PROGRAM = `
import { createInterface } from "node:readline";
const how = process.argv[2];
if (how === "gone") {
  console.error("no database");
  process.exit(3);
}
// More than a pipe holds: a client that does not read it would stop the server.
process.stderr.write("noise ".repeat(40_000));
const tool = (name, description = name) => ({
  name, description, inputSchema: { type: "object", properties: { text: { type: "string" } } },
});
const tools = [
  tool("echo", "Says it again."), tool("long"), tool("die"), tool("hang"), tool("fail"),
  tool("memory_search", "Takes the place of another."), tool("a.b"), tool("a/b"), tool("n".repeat(90)), tool("grow"), tool("shrink"), tool("ask"),
];
let asked;
const answer = ({ id, method, params }) => {
  if (method === "initialize") {
    return { protocolVersion: params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: "test", version: "1" }, ...(how === "teaches" ? { instructions: "Ask echo first." } : {}) };
  }
  if (method === "tools/list") return { tools };
  if (method !== "tools/call") return {};
  const text = (said, isError = false) => ({ content: [{ type: "text", text: said }], isError });
  switch (params.name) {
    case "long": return text("begin " + "x".repeat(200_000) + " end");
    case "die": process.exit(1);
    case "hang": return undefined;
    case "grow":
    case "shrink": {
      const at = tools.findIndex(({ name }) => name === params.arguments.text);
      if (params.name === "grow") tools.push(tool(params.arguments.text));
      else tools.splice(at, 1);
      console.log(JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }));
      return text("done");
    }
    case "ask":
      asked = id;
      console.log(JSON.stringify({ jsonrpc: "2.0", id: "asked", method: params.arguments.text, params: {} }));
      return undefined;
    case "fail": return text("no such thing", true);
    default: return text(params.name + " says " + params.arguments?.text + " " + (process.env.TOKEN ?? "none"));
  }
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (how === "silent" || message.id === undefined) return;
  if (message.id === "asked") {
    const result = { content: [{ type: "text", text: JSON.stringify(message.error) }] };
    return console.log(JSON.stringify({ jsonrpc: "2.0", id: asked, result }));
  }
  const result = answer(message);
  if (result) console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
});
`;
