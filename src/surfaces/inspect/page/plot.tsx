import type { ComponentChildren } from "preact";
import { short } from "./parts.tsx";

/** The width on a laptop, and on a phone, where the same text would be a third as large. */
const [WIDE, NARROW] = [800, 380];
const HEIGHT = 220;
const LEFT = 44;
const RIGHT = 8;
const TOP = 10;
const BOTTOM = 14;
/** Lines of the grid at the least, besides the one at 0. */
const LINES = 3;

export interface PlotPoint {
  readonly value: number;
  readonly isDot?: boolean;
}

/** A curve from left to right, with what it says in words, and as a table that opens. */
export function Plot({
  label,
  points,
  limit,
  caption,
  children,
}: {
  readonly label: string;
  readonly points: readonly PlotPoint[];
  /** A dashed line. */
  readonly limit?: number | undefined;
  readonly caption: string;
  /** The same as a table. */
  readonly children: ComponentChildren;
}) {
  const width = matchMedia("(max-width: 46rem)").matches ? NARROW : WIDE;
  const highest = points.reduce((high, { value }) => Math.max(high, value), limit ?? 1);
  const step = roundStep(highest / LINES);
  const most = Math.max(highest * 1.04, step);
  const x = (at: number) => LEFT + (at / Math.max(1, points.length - 1)) * (width - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - TOP);
  const path = points
    .map(({ value }, at) => `${at === 0 ? "M" : "L"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
  const lines = Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
  return (
    <figure class="plot">
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
        {lines.map((value) => (
          <g key={value} class="grid">
            <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 6} y={y(value) + 4}>
              {short(value)}
            </text>
          </g>
        ))}
        {limit !== undefined && (
          <line class="threshold" x1={LEFT} x2={width - RIGHT} y1={y(limit)} y2={y(limit)} />
        )}
        <path
          class="area"
          d={`${path}L${x(points.length - 1)} ${HEIGHT - BOTTOM}L${LEFT} ${HEIGHT - BOTTOM}Z`}
        />
        <path class="curve" d={path} />
        {points.map(
          ({ value, isDot }, at) =>
            isDot && <circle key={at} class="compaction" cx={x(at)} cy={y(value)} r="4" />,
        )}
      </svg>
      <figcaption>{caption}</figcaption>
      <details>
        <summary>The same as a table</summary>
        {children}
      </details>
    </figure>
  );
}

/** The largest number of 1, 2, 5, 10, 20, 50 … that is no larger, and 1 at least. */
function roundStep(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
  return ([5, 2].find((factor) => factor * power <= most) ?? 1) * power;
}
