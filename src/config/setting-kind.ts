/** The values that a setting takes. */
export interface SettingKind<Value> {
  /** Completes "it must be …". */
  readonly allowed: string;
  /** Reads a value of a file. Undefined when it is not allowed. */
  read(value: unknown): Value | undefined;
  /** Reads the text of a variable or a flag. Undefined when it is not allowed. */
  readText(text: string): Value | undefined;
  /** The value in TOML. */
  write(value: Value): string;
}

export const text: SettingKind<string> = {
  allowed: "a non-empty text",
  read: (value) => (typeof value === "string" && value.trim() !== "" ? value : undefined),
  readText: (value) => text.read(value),
  // TOML takes JSON's escapes, and forbids one more character.
  write: (value) => JSON.stringify(value).replaceAll("\u007f", "\\u007F"),
};

/** A list. As the text of a variable or a flag, it has commas. */
export const textList = listOf(text, 'a list of texts, such as ["all"]');

/** A program may take an empty argument, or none: other programs write `args = []`. */
export const argumentList = listOf(
  { ...text, read: (value) => (typeof value === "string" ? value : undefined) },
  textList.allowed,
  0,
);

/** Limited to safe characters, because the name is written into files and shown in terminals. */
export const modelName: SettingKind<string> = matching(
  /^[A-Za-z0-9_-]{1,64}\/[\w./:@+-]{1,200}$/,
  'provider/model, such as "anthropic/claude-sonnet-4-5"',
);

/** The name of a variable, not its value. A text that looks like a key is refused. */
export const variableName: SettingKind<string> = matching(
  /^[A-Z_][A-Z0-9_]{0,100}$/,
  'the name of an environment variable, such as "OPENAI_API_KEY" (never the key itself)',
);

/** Other programs also use small letters. */
export const variableNames = listOf(
  matching(/^[A-Za-z_][A-Za-z0-9_]{0,100}$/, ""),
  'a list of names of environment variables, such as ["SSH_AUTH_SOCK"] (never their values)',
);

export const webAddress: SettingKind<string> = {
  ...text,
  allowed: 'an address such as "http://127.0.0.1:11434/v1"',
  read: (value) => (typeof value === "string" && isWebAddress(value) ? value : undefined),
  readText: (value) => webAddress.read(value),
};

/** Checks the scheme only; the rest is checked when the store is opened. Messages never repeat it: it may have a password. */
export const storeAddress: SettingKind<string> = {
  ...text,
  allowed: 'an address such as "postgres://user@host:5432/database"',
  read: (value) =>
    typeof value === "string" && /^postgres(?:ql)?:\/\//i.test(value) ? value : undefined,
  readText: (value) => storeAddress.read(value),
};

export const truth: SettingKind<boolean> = {
  allowed: "true or false",
  read: (value) => (typeof value === "boolean" ? value : undefined),
  readText: (value) => [true, false].find((truth) => value.toLowerCase() === String(truth)),
  write: String,
};

export const wholeNumber: SettingKind<number> = {
  allowed: "a whole number, 1 or more",
  read: (value) => (Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : undefined),
  readText: (value) =>
    /^\d[\d_]*$/.test(value) ? wholeNumber.read(Number(value.replaceAll("_", ""))) : undefined,
  write: String,
};

export const wholeNumberOrNone: SettingKind<number> = {
  allowed: "a whole number, 0 or more",
  read: (value) => (value === 0 ? 0 : wholeNumber.read(value)),
  readText: (value) => (/^0+$/.test(value) ? 0 : wholeNumber.readText(value)),
  write: String,
};

export const share: SettingKind<number> = {
  allowed: "a number from 0 to 1",
  read: (value) => (typeof value === "number" && value >= 0 && value <= 1 ? value : undefined),
  readText: (value) =>
    /^(?:\d+(?:\.\d+)?|\.\d+)$/.test(value) ? share.read(Number(value)) : undefined,
  write: String,
};

export const amount: SettingKind<number> = {
  allowed: "a number, 0 or more",
  read: (value) =>
    typeof value === "number" && value >= 0 && Number.isFinite(value) ? value : undefined,
  readText: (value) => (/^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Number(value) : undefined),
  write: String,
};

/** Milliseconds, written as a duration. */
export const duration: SettingKind<number> = {
  allowed: 'a duration such as "90s" or "1h30m", or seconds',
  read: (value) => parseDuration(value),
  readText: (value) => parseDuration(value),
  write: (value) => JSON.stringify(formatDuration(value)),
};

export function oneOf<const Choice extends string>(
  ...choices: readonly Choice[]
): SettingKind<Choice> {
  const read = (value: unknown) => choices.find((choice) => choice === value);
  return {
    allowed: choices.map((choice) => JSON.stringify(choice)).join(" or "),
    read,
    readText: read,
    write: (value) => JSON.stringify(value),
  };
}

function listOf(
  kind: SettingKind<string>,
  allowed: string,
  least = 1,
): SettingKind<readonly string[]> {
  const read = (value: unknown) =>
    Array.isArray(value) &&
    value.length >= least &&
    value.every((each) => kind.read(each) !== undefined)
      ? value
      : undefined;
  return {
    allowed,
    read,
    readText: (value) => read(value.split(",").map((each) => each.trim())),
    write: (value) => `[${value.map((each) => text.write(each)).join(", ")}]`,
  };
}

function matching(pattern: RegExp, allowed: string): SettingKind<string> {
  const read = (value: unknown) =>
    typeof value === "string" && pattern.test(value) ? value : undefined;
  return { ...text, allowed, read, readText: read };
}

function isWebAddress(value: string): boolean {
  return /^https?:\/\//i.test(value) && URL.canParse(value);
}

const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
const SPELLING = /^(?:(?<h>\d+)h)?(?:(?<m>\d+)m(?!s))?(?:(?<s>\d+)s)?(?:(?<ms>\d+)ms)?$/;

/** Milliseconds of a duration such as `1h30m`, `90s` or a number of seconds. Undefined for anything else. */
export function parseDuration(value: unknown): number | undefined {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || text === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return positive(Math.round(Number(text) * 1000));
  const parts = SPELLING.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const units = Object.entries(UNITS);
  return positive(units.reduce((sum, [unit, ms]) => sum + Number(parts[unit] ?? 0) * ms, 0));
}

/** The shortest text that `parseDuration` reads back. */
export function formatDuration(durationMs: number): string {
  let rest = durationMs;
  let spelled = "";
  for (const [unit, ms] of Object.entries(UNITS)) {
    const count = Math.floor(rest / ms);
    if (count > 0) spelled += `${count}${unit}`;
    rest -= count * ms;
  }
  return spelled || "0s";
}

function positive(ms: number): number | undefined {
  return Number.isSafeInteger(ms) && ms > 0 ? ms : undefined;
}
