import { stripVTControlCharacters } from "node:util";
import type { Sample, Samples } from "./running-test.ts";

export interface SkippedTest {
  readonly name: string;
  readonly reason: string;
}

export interface TimedTest {
  readonly file: string;
  readonly name: string;
  readonly ms: number;
}

export interface Failure {
  /** The file and the test. */
  readonly title: string;
  readonly errors: readonly FailureError[];
  /** The command that repeats it. */
  readonly command: string;
}

export interface FailureError {
  readonly name?: string;
  readonly message: string;
  readonly diff?: string;
  /** Where it was thrown, the innermost place of ours first. */
  readonly places: readonly string[];
  readonly cause?: FailureError;
}

const REASONS_MAX = 10;
const SLOWEST = 5;
const WIDTH = 120;

/** What was skipped, a line for each reason, with the reason that has the most tests first. */
export function renderSkipped(skipped: readonly SkippedTest[]): string[] {
  if (skipped.length === 0) return [];
  const groups = Object.entries(Object.groupBy(skipped, ({ reason }) => reason));
  const sizes = groups.map(([reason, tests = []]) => ({ reason, tests }));
  sizes.sort((one, other) => other.tests.length - one.tests.length);
  const rest = sizes.slice(REASONS_MAX).reduce((sum, { tests }) => sum + tests.length, 0);
  return [
    `Skipped: ${skipped.length}`,
    ...sizes.slice(0, REASONS_MAX).map(({ reason, tests }) => {
      const [only] = tests;
      const which = tests.length === 1 && only ? ` (${only.name})` : "";
      return cut(`  ${tests.length} ${reason}${which}`);
    }),
    ...(rest > 0 ? [`  ${rest} for other reasons`] : []),
  ];
}

/** How many run of what the short form of the tests has a part of. */
export function renderSamples(files: readonly Samples[]): string[] {
  const counts = Object.groupBy(files.flatMap(Object.entries<Sample>), ([kind]) => kind);
  const lines = Object.entries(counts).flatMap(([kind, counted = []]) => {
    const sum = (count: (sample: Sample) => number) =>
      counted.reduce((sum, [, sample]) => sum + count(sample), 0);
    const [run, all] = [sum((sample) => sample.run), sum((sample) => sample.all)];
    return run < all ? [`  ${kind}: ${run} of ${all}`] : [];
  });
  return lines.length === 0 ? [] : ["In part; npm run test:long runs all:", ...lines.sort()];
}

export function renderSlowest(tests: readonly TimedTest[]): string[] {
  if (tests.length === 0) return [];
  const slowest = tests.toSorted((one, other) => other.ms - one.ms).slice(0, SLOWEST);
  return [
    "Slowest:",
    ...slowest.map(({ file, name, ms }) => cut(`  ${seconds(ms)}  ${file} > ${name}`)),
  ];
}

/** A failure as one reads it: what, why, where, and how to see it again. */
export function renderFailure({ title, errors, command }: Failure): string[] {
  return [
    `✗ ${oneLine(title)}`,
    ...errors.flatMap(renderError).map(indented),
    `  Repeat: ${command}`,
    "",
  ];
}

function renderError({ name, message, diff, places, cause }: FailureError): string[] {
  const named = name === undefined || name === "Error" || message.startsWith(name);
  return [
    ...`${named ? "" : `${name}: `}${message}`.split("\n"),
    ...(diff === undefined || diff === "" ? [] : diff.split("\n")),
    ...places.map((place) => `at ${place}`),
    ...(cause ? ["caused by:", ...renderError(cause).map(indented)] : []),
  ];
}

export interface Progress {
  readonly tests: number;
  readonly failed: number;
  readonly files: number;
  readonly filesInAll: number;
  readonly ms: number;
}

/** `40 %: 2560 tests, 126 of 315 files, 1 failed, 61 s` */
export function renderProgress({ tests, failed, files, filesInAll, ms }: Progress): string {
  const percent = Math.floor((100 * files) / Math.max(1, filesInAll));
  const failures = failed > 0 ? `, ${failed} failed` : "";
  return `${percent} %: ${tests} tests, ${files} of ${filesInAll} files${failures}, ${Math.round(ms / 1000)} s`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`.padStart(7);
}

function cut(line: string): string {
  const text = oneLine(line);
  return text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text;
}

function oneLine(text: string): string {
  return stripVTControlCharacters(text).replace(/[\r\n]+/g, " ");
}

function indented(line: string): string {
  return line === "" ? "" : `  ${line}`;
}
