import type { MemoryHit, MemoryStats } from "../../core/memory-store.ts";
import { printable } from "./printable.ts";
import type { Style } from "./style.ts";
import { thousands } from "./thousands.ts";

const LINES_MAX = 8;

/** Hits, best first, each with where it comes from. */
export function renderMemoryHits(hits: readonly MemoryHit[], style: Style): string {
  return hits.map((hit) => renderHit(hit, style)).join("\n");
}

export function renderMemoryStats(stats: MemoryStats, style: Style): string {
  const facts = [
    ["entries", thousands(stats.entries)],
    ["sessions", thousands(stats.sessions)],
    ["text", `${thousands(stats.textBytes)} bytes`],
    ["index", stats.index],
  ];
  return facts.map(([name = "", value]) => `${style.dim(name.padEnd(10))}${value}\n`).join("");
}

function renderHit(hit: MemoryHit, style: Style): string {
  const place = [
    `session ${printable(hit.sessionId)}`,
    hit.turn === null ? undefined : `turn ${hit.turn}`,
    hit.speaker ?? hit.role,
    hit.time,
  ].filter((part) => part !== undefined);
  const lines = printable(hit.content).trim().split("\n");
  const rest = lines.length - LINES_MAX;
  const shown = lines.slice(0, LINES_MAX).map((line) => `  ${line}\n`);
  if (rest > 0) shown.push(style.dim(`  … ${rest} more lines\n`));
  const score = style.green(hit.score.toFixed(2));
  return `${score}  ${style.dim(printable(place.join(" · ")))}\n${shown.join("")}`;
}
