import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { visibleCode, visibleText } from "../../../text/visible-text.ts";
import { Refusal } from "./source.ts";

/** Characters of a text that are shown at first, and how many each click adds. */
const SHOWN = 4000;
const MORE = 100_000;

/**
 * A text of a person, a model or a tool. It is never HTML, and what is hidden in it can be seen: a text may have been
 * made to deceive.
 */
export function Words({
  text,
  mono,
  whole,
}: {
  readonly text: string;
  readonly mono?: boolean;
  /** Shows all of it at once: somebody may allow it. */
  readonly whole?: boolean;
}) {
  const [length, setLength] = useState(whole ? Number.POSITIVE_INFINITY : SHOWN);
  const rest = text.length - length;
  return (
    <>
      <p class={mono ? "words mono" : "words"} dir="auto">
        {plain(text.slice(0, length))}
      </p>
      {rest > 0 && (
        <button type="button" class="more" onClick={() => setLength(length + MORE)}>
          Show {rest > MORE ? "more" : "all"} ({amount(rest)} characters are left)
        </button>
      )}
    </>
  );
}

/** A part of a text, and the place that it is from. */
export interface LinkedPart {
  readonly text: string;
  readonly href: string;
  /** The link's words for the place. */
  readonly title: string;
  readonly isMarked: boolean;
}

/** A text whose parts lead to where they are from. Of two places with the same words, the first is taken. */
export function LinkedWords({
  text,
  parts,
}: {
  readonly text: string;
  readonly parts: readonly LinkedPart[];
}) {
  const found = new Map<string, LinkedPart>();
  for (const part of parts) {
    if (part.text !== "" && !found.has(part.text) && text.includes(part.text))
      found.set(part.text, part);
  }
  if (found.size === 0) return <Words text={text} />;
  const longestFirst = [...found.keys()].sort((one, other) => other.length - one.length);
  const escaped = longestFirst.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pieces = text.split(new RegExp(`(?<!\\w)(${escaped.join("|")})(?!\\w)`));
  return (
    <p class="words" dir="auto">
      {pieces.map((piece, at) => {
        const part = found.get(piece);
        if (!part || at % 2 === 0) return plain(piece);
        const { href, title, isMarked } = part;
        return (
          <a key={at} class="part-of" href={href} title={title}>
            {isMarked ? <mark>{plain(piece)}</mark> : plain(piece)}
          </a>
        );
      })}
    </p>
  );
}

/** A text in which control characters and hidden ones can be seen. */
export function plain(text: string): string {
  return visibleText(text).replaceAll(CONTROL, (sign) => {
    const code = sign.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : visibleCode(sign);
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is shown by their pictures and their numbers
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/** The first line of a text, for one row. */
export function headOf(text: string, most = 200): string {
  const begin = text.search(/\S/);
  const line = text
    .slice(Math.max(0, begin), begin + most * 2)
    .trim()
    .replaceAll(/\s+/g, " ");
  return plain(line.length > most ? `${line.slice(0, most)}…` : line);
}

/** The heading of a view, which is the title of the page too: of its tab, in the browser's history, for a screen reader. */
export function Title({ children: text }: { readonly children: string }) {
  useEffect(() => {
    document.title = `${text} · rkat`;
  }, [text]);
  return <h1 dir="auto">{text}</h1>;
}

const NUMBERS = new Intl.NumberFormat("en");

export function amount(count: number): string {
  return NUMBERS.format(count);
}

/** `1 message`, `1,234 messages`, `2 entries`. */
export function many(count: number, what: string): string {
  return `${amount(count)} ${count === 1 ? what : `${what}s`.replace(/([^aeiou])ys$/, "$1ies")}`;
}

/** The author of a text, in the word that the whole page has for it. */
export function whoSaid(role: string): string {
  return plain(role === "assistant" ? "model" : role);
}

/** 1 234 567 tokens as 1.2M. */
export function short(count: number): string {
  if (count < 1000) return String(count);
  return count < 999_500 ? `${trim(count / 1000)}k` : `${trim(count / 1_000_000)}M`;
}

function trim(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

export function dollars(count: number): string {
  return `$${count.toFixed(count < 1 ? 4 : 2)}`;
}

export function bytes(count: number): string {
  const [, number = "", unit = ""] = /^([\d.]+)(.*)$/.exec(short(count)) ?? [];
  return count < 1000 ? many(count, "byte") : `${number} ${unit.toUpperCase()}B`;
}

const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });

export function Time({ at }: { readonly at: string | number }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{plain(String(at))}</span>;
  // An imported session whose agent wrote no times.
  if (date.getTime() === 0) return <span>no time</span>;
  return (
    <time dateTime={date.toISOString()} title={MOMENT.format(date)}>
      {ago(date)}
    </time>
  );
}

export function clock(time: number): string {
  return CLOCK.format(time);
}

function ago(date: Date): string {
  const minutes = Math.round((Date.now() - date.getTime()) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.round(minutes / 60)} h ago`;
  if (minutes < 8 * 24 * 60) return `${Math.round(minutes / 1440)} d ago`;
  return MOMENT.format(date);
}

/** The outcome of a request. */
export interface Loaded<Value> {
  readonly value?: Value;
  readonly error?: unknown;
  readonly reload: () => void;
}

/** Loads when one of `inputs` changes. An answer that comes after a later question is dropped. */
export function useLoaded<Value>(
  load: (() => Promise<Value>) | undefined,
  inputs: readonly unknown[],
): Loaded<Value> {
  const [state, setState] = useState<{ value?: Value; error?: unknown }>({});
  const [again, setAgain] = useState(0);
  useEffect(() => {
    if (!load) return setState({});
    let isCurrent = true;
    load().then(
      (value) => isCurrent && setState({ value }),
      (error: unknown) => isCurrent && setState({ error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [...inputs, again]);
  return { ...state, reload: () => setAgain((times) => times + 1) };
}

/** Does something that a button asks for, shows why it failed, and loads again when it is done. */
export function useWork(onDone: () => void): {
  readonly failed: unknown;
  readonly work: (asked: Promise<unknown>) => void;
} {
  const [failed, setFailed] = useState<unknown>();
  const work = (asked: Promise<unknown>) => {
    asked.then(() => {
      setFailed(undefined);
      onDone();
    }, setFailed);
  };
  return { failed, work };
}

export function Failure({ error }: { readonly error: unknown }) {
  if (error === undefined) return null;
  const hint = error instanceof Refusal ? error.hint : "";
  return (
    <div class="failure" role="alert">
      <strong>{plain(error instanceof Error ? error.message : String(error))}</strong>
      {hint && <p>{plain(hint)}</p>}
    </div>
  );
}

export function Badge({
  tone,
  children,
}: {
  readonly tone?: string;
  readonly children: ComponentChildren;
}) {
  // The name of a speaker may be a tone. It is no class: `unseen` would hide it.
  return (
    <span class="badge" data-tone={tone}>
      {children}
    </span>
  );
}

/** How much of something is used. */
export function Meter({
  label,
  used,
  of,
  warns,
}: {
  readonly label: string;
  readonly used: number;
  readonly of: number;
  readonly warns?: boolean;
}) {
  const share = of > 0 ? Math.min(1, used / of) : 0;
  const tone = !warns ? "" : share > 0.9 ? "high" : share > 0.7 ? "mid" : "";
  return (
    <span class="meter" role="img" aria-label={`${label}: ${Math.round(share * 100)} %`}>
      <span class={`fill ${tone}`} style={{ width: `${share * 100}%` }} />
    </span>
  );
}

/** What the keyboard was in before a dialog. */
let opener: Element | null = null;

/** A question before something that cannot be taken back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    // A dialog in the place of another goes back to where that one came from.
    if (document.activeElement !== document.body) opener = document.activeElement;
    dialog.current?.showModal();
    // Before it has left, all else is out of reach.
    return () => queueMicrotask(() => opener instanceof HTMLElement && opener.focus());
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** A text to change. The keyboard is in it at once. */
export function Editor({
  text: before,
  onSave,
  onCancel,
}: {
  readonly text: string;
  readonly onSave: (text: string) => void;
  readonly onCancel: () => void;
}) {
  const [text, setText] = useState(before);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") onSave(text);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onCancel();
      }}
    >
      <textarea
        ref={area}
        aria-label="New text"
        rows={4}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <div class="bar">
        <button type="submit" disabled={text.trim() === ""}>
          Save
        </button>
        <button type="button" onClick={onCancel}>
          Leave it as it was
        </button>
      </div>
    </form>
  );
}

/** A field with its name. */
export function Field({
  label,
  hidden,
  ...input
}: { readonly label: string; readonly hidden?: boolean } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <span class="field">
      <label for={id} class={hidden ? "unseen" : ""}>
        {label}
      </label>
      <input id={id} {...input} />
    </span>
  );
}

/** The field that `/` moves to. */
export function SearchField({
  label,
  placeholder,
  value,
  onChange,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <Field
      label={label}
      hidden
      type="search"
      placeholder={`${placeholder}  ( / )`}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {plain(text)}
          </option>
        ))}
      </select>
    </span>
  );
}

/** Kinds of entries of memory, to choose from. */
export const KINDS = [
  ["", "all"],
  ["message", "messages"],
  ["fact", "facts"],
  ["correction", "corrections"],
  ["preference", "preferences"],
  ["rule", "rules"],
] as const;
