import type { MemoryHit, MemoryStats } from "../../core/memory-store.ts";
import { renderPassage } from "./render-passage.ts";
import type { Style } from "./style.ts";
import { thousands } from "./thousands.ts";

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
  const { sessionId, turn, speaker, role, time, content } = hit;
  const place = [
    `session ${sessionId}`,
    turn === null ? undefined : `turn ${turn}`,
    speaker ?? role,
    time,
  ];
  return `${style.green(hit.score.toFixed(2))}  ${renderPassage({ place, content }, style)}`;
}
