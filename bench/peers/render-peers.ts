import type { SearchTimes } from "../measuring.ts";

/** What one peer took. */
export interface Measured {
  readonly name: string;
  readonly addedPerSecond: number;
  readonly textBytes: number;
  readonly diskBytes: number;
  readonly firstMs: number;
  readonly singleMs?: number;
  readonly words?: SearchTimes;
  readonly hybrid?: SearchTimes;
  readonly residentBytes: number;
}

type Kind = "words" | "hybrid";

const MB = 2 ** 20;

const COLUMNS: readonly {
  readonly title: string;
  value(measured: Measured, kind: Kind): number | undefined;
}[] = [
  { title: "search p50, ms", value: (measured, kind) => measured[kind]?.p50 },
  { title: "p99", value: (measured, kind) => measured[kind]?.p99 },
  { title: "processor, ms", value: (measured, kind) => measured[kind]?.cpu },
  { title: "adds a second", value: ({ addedPerSecond }) => addedPerSecond },
  { title: "one add, ms", value: ({ singleMs }) => singleMs },
  { title: "disk, MB", value: ({ diskBytes }) => diskBytes / MB },
  { title: "process, MB", value: ({ residentBytes }) => residentBytes / MB },
  { title: "load, open, first result, ms", value: ({ firstMs }) => firstMs },
];

/** Who searches words, and who searches vectors too; in brackets rkat's figure divided by theirs. */
export function renderPeers(size: number, peers: readonly Measured[]): string {
  const text = digits((peers[0]?.textBytes ?? 0) / MB);
  return [
    `### ${size} entries, ${text} MB of text`,
    ...(["words", "hybrid"] as const).flatMap((kind) => tableOf(kind, peers)),
    "",
  ].join("\n");
}

function tableOf(kind: Kind, peers: readonly Measured[]): string[] {
  const some = peers.filter((peer) => peer[kind] !== undefined);
  const rkat = some.find(({ name }) => name.startsWith("rkat"));
  const rows = some.map((peer) => [
    peer.name,
    ...COLUMNS.map(({ value }) => {
      const [own, other] = [rkat && value(rkat, kind), value(peer, kind)];
      const ratio = own && other && peer !== rkat ? ` (${digits(own / other)} ×)` : "";
      return digits(other) + ratio;
    }),
  ]);
  const head = [kind, ...COLUMNS.map(({ title }) => title)];
  const rule = ["---", ...COLUMNS.map(() => "---:")];
  return ["", ...[head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`)];
}

function digits(value: number | undefined): string {
  if (value === undefined) return "";
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}
