import type { TimeSpent } from "./time-spent.ts";

export interface TimeRow {
  readonly name: string;
  readonly spent: TimeSpent;
}

/** A test that takes longer is in the table. */
const SLOW_MS = 2000;
const FILES_MAX = 40;

const LEGEND = [
  "servers    starting a server, until it answers",
  "processes  starting another process, until it prints or sends something, or ends",
  "computing  in the rest, the processor's time of the tests' own process",
  "waiting    in the rest: another process works, a disk, or a timer runs",
];

/** Where time went: in all, by file with the longest first, and by test over two seconds. In seconds. */
export function renderTimes(files: readonly TimeRow[], tests: readonly TimeRow[]): string[] {
  const slow = tests.filter(({ spent }) => inAll(spent) > SLOW_MS);
  const sum = (kind: keyof TimeSpent) => files.reduce((all, { spent }) => all + spent[kind], 0);
  const whole = {
    servers: sum("servers"),
    processes: sum("processes"),
    computing: sum("computing"),
    waiting: sum("waiting"),
  };
  return [
    "",
    ...LEGEND,
    "",
    HEADER,
    row({ name: `all ${files.length} files`, spent: whole }),
    ...longestFirst(files).slice(0, FILES_MAX).map(row),
    "",
    slow.length === 0 ? "No test took more than 2 s." : `Tests over 2 s: ${slow.length}`,
    ...(slow.length === 0 ? [] : [HEADER]),
    ...longestFirst(slow).map(row),
  ];
}

const HEADER = cells(["in all", "servers", "processes", "computing", "waiting"], "");

function row({ name, spent }: TimeRow): string {
  const { servers, processes, computing, waiting } = spent;
  const all = [inAll(spent), servers, processes, computing, waiting];
  return cells(
    all.map((ms) => (ms / 1000).toFixed(1)),
    name,
  );
}

function cells(texts: readonly string[], name: string): string {
  return `${texts.map((text) => text.padStart(10)).join("")}  ${name}`.trimEnd();
}

function longestFirst(rows: readonly TimeRow[]): TimeRow[] {
  return rows.toSorted((one, other) => inAll(other.spent) - inAll(one.spent));
}

function inAll({ servers, processes, computing, waiting }: TimeSpent): number {
  return servers + processes + computing + waiting;
}
