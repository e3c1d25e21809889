import { parseArgs } from "node:util";
import "../../test/hosts/install.ts";
import { agentRuns, KINDS } from "./agent-run.ts";

/**
 * Has the same conversations with agents in each host's loop, with the host's own answer to a full
 * window and with rkat's. The models are programs on this machine.
 *
 *     npm ci && npx node bench/hosts/run.ts [--runs 200] [--only rkat] [--kind pictures] [--turns 200]
 *
 * Conversations have texts only, or pictures too, or many tools: `plain`, `pictures` or `tools`.
 */
const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "200" },
    only: { type: "string", default: "" },
    kind: { type: "string", default: "plain" },
    turns: { type: "string" },
  },
});
const kind = KINDS.find((each) => each === values.kind);
if (kind === undefined) throw new Error(`--kind is one of ${KINDS.join(", ")}.`);

const { CONTENDERS } = await import("./contenders.ts");
const { playAll } = await import("./play-all.ts");
const { renderHosts } = await import("./render-hosts.ts");

const contenders = CONTENDERS.filter(
  ({ host, name, kinds = KINDS }) =>
    `${host} ${name}`.includes(values.only) && kinds.includes(kind),
);
const turns = values.turns === undefined ? undefined : Number(values.turns);
const runs = agentRuns(Number(values.runs), kind, turns);
const rows = await playAll(runs, contenders, (progress) =>
  console.error(`${new Date().toISOString()} ${progress}`),
);
for (const { host, name, failures } of rows) {
  for (const failure of failures) console.error(`${host}, ${name}: ${failure}`);
}
console.log(renderHosts(rows));
