import { Socket } from "node:net";
import { PEERS } from "./peers.ts";
import { PHASES, type PhaseInput, type PhaseName } from "./phases.ts";

// Started by `run.ts`: does one thing to one peer, and ends.
Socket.prototype.connect = () => {
  throw new Error("A peer tried to use the network, and none of them needs it.");
};

const [name = "", phase = "", input = "{}"] = process.argv.slice(2);
const peer = PEERS.find((one) => one.name === name);
if (!peer) throw new Error(`There is no peer ${name}.`);
const result = await PHASES[phase as PhaseName](peer, JSON.parse(input) as PhaseInput);
process.send?.({ result });
// Some peers keep timers and pools that would keep the process for seconds.
process.exitCode = 0;
setImmediate(() => process.exit());
