import { type Series, trendOf } from "./trend.ts";

const [WIDTH, HEIGHT, GAP, LEFT, COLUMNS] = [340, 78, 34, 10, 2];

/** Small drawings of all series in one file: each from zero to its most, with a grey first third. */
export function plot(all: readonly Series[], minutes: number): string {
  const rows = Math.ceil(all.length / COLUMNS);
  const [width, height] = [COLUMNS * (WIDTH + GAP), rows * (HEIGHT + GAP) + 24];
  const drawings = all.map((series, at) => {
    const x = LEFT + (at % COLUMNS) * (WIDTH + GAP);
    const y = 20 + Math.floor(at / COLUMNS) * (HEIGHT + GAP);
    return `<g transform="translate(${x} ${y})">${drawing(series)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    "<title>Memory, descriptors, sizes and times over the run</title>",
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...drawings,
    `<text x="${LEFT}" y="${height - 8}" fill="#666">${Math.round(minutes)} minutes, from left to right; the grey part is not judged</text>`,
    "</svg>\n",
  ].join("\n");
}

function drawing(series: Series): string {
  const { name, unit, values } = series;
  const top = Math.max(...values, 1e-9);
  const { median, change } = trendOf(series);
  const points = values.map((value, at) => {
    const x = (at / Math.max(1, values.length - 1)) * WIDTH;
    return `${x.toFixed(0)},${(HEIGHT - (value / top) * HEIGHT).toFixed(0)}`;
  });
  const said = `${name}: ${digits(median)} ${unit}, ${change < 0 ? "−" : "+"}${Math.abs(100 * change).toFixed(1)} %`;
  return [
    `<text y="-5" fill="#222">${said}</text>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#f6f6f6"/>`,
    `<rect width="${(WIDTH / 3).toFixed(0)}" height="${HEIGHT}" fill="#e6e6e6"/>`,
    `<polyline points="${points.join(" ")}" fill="none" stroke="#2563eb"/>`,
    `<text x="${WIDTH - 3}" y="11" text-anchor="end" fill="#666">${digits(top)}</text>`,
  ].join("");
}

export function digits(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
