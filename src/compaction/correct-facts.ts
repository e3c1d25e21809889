import { indexableText, isSummary, type Message, toolResults } from "../core/message.ts";
import { changesIn } from "./clause-changes.ts";
import { type Clause, clausesIn, isStateOrNumber, TEXT_CHARACTERS_MAX } from "./clause-facts.ts";
import { twoEnds } from "./cut-text.ts";
import type { Speakers } from "./kept-words.ts";
import { withValuesBack } from "./misplaced-values.ts";
import { summaryText, summaryWords, userText } from "./render-transcript.ts";
import { ToldOutcomes, tellsOutcome } from "./told-outcomes.ts";

/** The newest clauses of the record. A summary is of no use for telling what was said before so many. */
const CLAUSES_MAX = 40_000;

/** The newest clauses with a word that are compared with a statement. */
const LOOKED_AT = 40;

/** Words that two statements have to share: what is done, and to what. */
const STATEMENT_WORDS_MIN = 2;

type Verdict = { readonly is: "supported" | "unknown" } | Contradicted;
interface Contradicted {
  readonly is: "contradicted";
  /** The text that replaces the clause; nothing where it is dropped. */
  readonly instead: string;
  /** The end of what it replaces, if that is not the end of the clause. */
  readonly end?: number;
  /** The clause is wrong whatever else the summary has: it tells of no earlier time. */
  readonly always?: true;
}

const UNKNOWN: Verdict = { is: "unknown" };
const SUPPORTED: Verdict = { is: "supported" };

/**
 * A summary without what the record contradicts. Compared are, clause by clause, the value and the state of a
 * name, and whether the same statement is negated, with the newest record of it:
 *
 *     record    The timeout of ORDER_QUEUE is 45 s.   Do not send the invoice to Marta.
 *     summary   The timeout of ORDER_QUEUE is 30 s, and the user asked to send the invoice to Marta.
 *     becomes   The timeout of ORDER_QUEUE is 45 s, on record: “Do not send the invoice to Marta”.
 *
 * So is what became what, and a number that the record has nowhere, where another one stands in its place there:
 *
 *     record    Renamed parseDate to readDate and its 14 callers.
 *     summary   readDate was renamed to parseDate, with 41 callers.
 *     becomes   on record: “Renamed parseDate to readDate and its 14 callers”, with 14 callers.
 *
 * Uncertain facts stay: pronouns, hedges, several names in a clause, and whatever the record says
 * in two ways.
 */
export function correctFacts(
  summary: string,
  record: readonly Message[],
  speakers: Speakers = new Map(),
): { readonly text: string; readonly changed: number } {
  const texts = record.flatMap((message) => {
    const by = speakers.get(message);
    const said = textsOf(message).map(({ text, isSaid }) => ({ text, by, isRead: !isSaid }));
    const earlier = isSummary(message) ? [{ text: summaryText(message), isRead: true }] : [];
    return [...said, ...earlier];
  });
  const back = withValuesBack(summary, texts);
  const put = correctClauses(back.text, record);
  return { text: put.text, changed: back.changed + put.changed };
}

function correctClauses(summary: string, record: readonly Message[]) {
  const clauses = clausesIn(summary);
  if (clauses.every(saysNothing) && !tellsOutcome(summary)) return { text: summary, changed: 0 };
  const facts = new RecordedFacts(record);
  const outcomes = new ToldOutcomes(record);
  const verdicts = clauses.map((clause, at): Verdict => {
    const goesOn = GOES_ON.test(summary.slice(clause.end, clause.end + 40));
    const verdict = facts.judge(goesOn ? { ...clause, isHistory: true } : clause);
    if (verdict !== UNKNOWN || goesOn) return verdict;
    const next = clauses[at + 1];
    const isSentence = next && SAME_SENTENCE.test(summary.slice(clause.end - 3, next.start));
    // "The user agreed, to send it": what it was about may be behind a comma.
    for (const end of isSentence ? [clause.end, next.end] : [clause.end]) {
      const instead = outcomes.instead(clause.text, summary.slice(clause.end, end));
      if (instead !== undefined) return { is: "contradicted", instead, end, always: true };
    }
    return UNKNOWN;
  });
  const told = new Set(
    clauses.flatMap(({ subject }, at) => (verdicts[at] === SUPPORTED ? [subject] : [])),
  );
  let text = "";
  let from = 0;
  let changed = 0;
  clauses.forEach((clause, at) => {
    const verdict = verdicts[at];
    // A summary that has what holds now may tell what was before, too.
    if (verdict?.is !== "contradicted" || (!verdict.always && told.has(clause.subject))) return;
    if (clause.start < from) return;
    changed += 1;
    text += summary.slice(from, clause.start) + verdict.instead;
    from = verdict.end ?? clause.end;
    if (verdict.instead === "")
      from += /^[.,;!。\uff01\uff0c\uff1b]?[ \t]*/.exec(summary.slice(from))?.[0].length ?? 0;
  });
  if (changed === 0) return { text: summary, changed };
  return { text: (text + summary.slice(from)).replace(NESTED, "$1"), changed };
}

/** A comma, or the full stop of a short word: "M. Caron". */
const SAME_SENTENCE = /, $| \p{Lu}\. $/u;

/** Words behind a clause that tells what was before. */
const GOES_ON =
  /^[\s.,;!]{0,4}(?:and |but )?(?:then|later|now|until|afterwards|finally|after|before|it|which|is|was|fixed|because|since)\b/i;

function saysNothing({ state, value, polarity, words, text }: Clause): boolean {
  if (state || value || changesIn(text).length > 0) return false;
  return polarity === 0 || words.size < STATEMENT_WORDS_MIN;
}

/** A clause of the record. */
interface Recorded {
  readonly clause: Clause;
  /** Said by a person or the model, and not only read by a tool. */
  readonly isSaid: boolean;
}

class RecordedFacts {
  readonly #clauses: readonly Recorded[];
  /** Places of the clauses with a subject, an anchor or a word. */
  readonly #places = new Map<string, number[]>();
  /** Places of plain facts by what they are of. */
  readonly #facts = new Map<string, number[]>();
  /** The places of a state or number in clauses that may be about anything. */
  readonly #loose = new Map<string, number[]>();

  /** The last clause that tells of a change. */
  readonly #changes = new Map<string, string>();

  constructor(record: readonly Message[]) {
    const all = record.flatMap((message) =>
      textsOf(message).flatMap(({ text, isSaid }) => {
        return clausesIn(twoEnds(text, TEXT_CHARACTERS_MAX)).map((clause) => ({ clause, isSaid }));
      }),
    );
    // An earlier summary knows changes of messages that have left.
    for (const earlier of record.filter(isSummary).map(summaryText)) {
      for (const clause of clausesIn(earlier)) this.#readChanges(clause);
    }
    this.#clauses = all.slice(-CLAUSES_MAX);
    this.#clauses.forEach(({ clause, isSaid }, place) => {
      if (isSaid) this.#readChanges(clause);
      for (const word of clause.words) add(this.#places, word, place);
      for (const [key] of factsOf(clause)) add(this.#facts, key, place);
      if (clause.anchors.length === 1 && factsOf(clause).length > 0) return;
      if (WAS.test(clause.text)) return;
      for (const each of clause.mentioned) {
        add(this.#loose, each, place);
        for (const anchor of clause.anchors) add(this.#loose, `${anchor} ${each}`, place);
      }
    });
  }

  #readChanges({ text }: Clause): void {
    for (const { from, to } of changesIn(text)) this.#changes.set(`${from} ${to}`, text);
  }

  judge(clause: Clause): Verdict {
    const changed = this.#judgeChanges(clause);
    return changed === UNKNOWN ? this.#judgeFacts(clause) : changed;
  }

  /** A change that is told the other way round than on record. */
  #judgeChanges({ text }: Clause): Verdict {
    for (const { from, to } of changesIn(text)) {
      const turned = this.#changes.get(`${to} ${from}`);
      if (turned === undefined || this.#changes.has(`${from} ${to}`)) continue;
      return { is: "contradicted", instead: onRecord(turned), always: true };
    }
    return UNKNOWN;
  }

  #judgeFacts(clause: Clause): Verdict {
    const verdicts = factsOf(clause).map(([key, value]) => this.#judgeFact(clause, key, value));
    const wrong = verdicts.find(({ is }) => is === "contradicted");
    if (wrong) return wrong;
    if (verdicts.includes(SUPPORTED)) return SUPPORTED;
    return verdicts.length > 0 ? UNKNOWN : this.#judgeStatement(clause);
  }

  #judgeFact(clause: Clause, key: string, said: string): Verdict {
    const places = this.#facts.get(key) ?? [];
    const last = places.at(-1);
    if (last === undefined) return UNKNOWN;
    const recorded = (place: number) => factsAt(this.#clauses[place]?.clause, key);
    const latest = recorded(last);
    if (latest === undefined) return UNKNOWN;
    if (latest === said) return SUPPORTED;
    // It was so once, and the clause tells the past.
    if (clause.isHistory && places.some((place) => recorded(place) === said)) return UNKNOWN;
    // A later clause that is not plain may have said so.
    const keys = clause.mentioned.flatMap((each) => [
      each,
      ...clause.anchors.map((anchor) => `${anchor} ${each}`),
    ]);
    const later = keys.flatMap((each) => this.#loose.get(each)?.slice(-LOOKED_AT) ?? []);
    if (later.some((place) => place > last && this.#mayBeAbout(place, clause))) return UNKNOWN;
    return { is: "contradicted", instead: corrected(clause, key, this.#clauses[last]?.clause) };
  }

  /** "The rollout failed." is about no test, and "All of them failed." may be. What is said of a path may be said of its folder. */
  #mayBeAbout(place: number, { subject, words }: Clause): boolean {
    const said = this.#clauses[place]?.clause;
    if (!said || !subject?.startsWith("=")) return true;
    const named = [...said.words].filter((word) => !isStateOrNumber(word));
    return named.length === 0 || named.some((word) => words.has(word) || ANYTHING.test(word));
  }

  /** The same statement, once with a negation and once without. */
  #judgeStatement({ polarity, words }: Clause): Verdict {
    if (polarity === 0 || words.size < STATEMENT_WORDS_MIN) return UNKNOWN;
    const lists = [...words].map((word) => this.#places.get(word) ?? []);
    const rarest = lists.reduce((best, list) => (list.length < best.length ? list : best));
    const same = rarest
      .slice(-LOOKED_AT)
      .flatMap((place) => this.#clauses[place] ?? [])
      .filter(({ clause }) => [...words].every((word) => clause.words.has(word)));
    const exact = same.filter(({ clause }) => clause.words.size === words.size);
    const known = exact.length > 0 && exact.at(-1) === same.at(-1) ? exact.slice(-1) : same;
    if (known.length === 0 || rarest.length > LOOKED_AT) return UNKNOWN;
    if (known.some(({ clause }) => clause.polarity === polarity)) return SUPPORTED;
    const said = known.at(-1);
    if (!said?.isSaid || known.some(({ clause }) => clause.polarity === 0)) return UNKNOWN;
    return { is: "contradicted", instead: onRecord(said.clause.text) };
  }
}

/** The beginnings of words that may stand for anything. */
const ANYTHING =
  /^(?:it|they|them|this|that|these|those|all|both|each|every.*|whole|entire|suite|rest)$/;

/** "It was 30 s" tells what was before, and is no news. */
const WAS = /^(?:it|this|that|which)? ?(?:was|had been|used to be) \d/i;

/** How a correction quotes the record, which may have the correction of an earlier summary. */
function onRecord(text: string): string {
  return `on record: “${text.replaceAll("on record: ", "").replace(/[“”]/g, "")}”`;
}

/** A correction inside of another one: a summary took its form along, and turned its words around again. */
const NESTED = /on record: “[^“”]{0,40}(on record: “[^“”]*”)”?/g;

/** The facts of a clause about its subject: the key of each, and its value. */
function factsOf({ subject, state, value }: Clause): readonly (readonly [string, string])[] {
  if (subject === undefined) return [];
  const facts: [string, string][] = [];
  if (state) facts.push([`${subject} ${state.dimension}`, String(state.value)]);
  if (value) facts.push([`${subject} in ${value.unit}`, value.number]);
  return facts;
}

function factsAt(clause: Clause | undefined, key: string): string | undefined {
  return clause && factsOf(clause).find(([known]) => known === key)?.[1];
}

/** The clause with the value of the record, as that wrote it; nothing where that takes more than a word. */
function corrected(
  { text, subject, state, value }: Clause,
  key: string,
  latest: Clause | undefined,
): string {
  if (state && key === `${subject} ${state.dimension}`) {
    return state.opposite === undefined ? "" : withLast(text, state.word, state.opposite);
  }
  return value && latest?.value ? withLast(text, value.shown, latest.value.shown) : "";
}

/** Replaces the only mention of a word outside of longer words; gives nothing where there are more. */
function withLast(text: string, word: string, other: string): string {
  const small = text.toLowerCase();
  const places: number[] = [];
  for (let at = small.indexOf(word); at >= 0; at = small.indexOf(word, at + 1)) {
    const behind = small.slice(at + word.length, at + word.length + 2);
    if (
      !/[\p{L}\p{N}_/-]|\.\p{L}/u.test(small[at - 1] ?? " ") &&
      !/^(\p{N}|_|\.[\p{L}\p{N}])/u.test(behind)
    ) {
      places.push(at);
    }
  }
  const [at] = places;
  if (at === undefined || places.length > 1 || small.length !== text.length) return "";
  const hasCapital = text[at] !== small[at];
  const shown = hasCapital ? other.charAt(0).toUpperCase() + other.slice(1) : other;
  return text.slice(0, at) + shown + text.slice(at + word.length);
}

function textsOf(message: Message): readonly { readonly text: string; readonly isSaid: boolean }[] {
  if (message.role === "system") return [{ text: message.content, isSaid: true }];
  if (message.role === "user") {
    const text = isSummary(message) ? summaryWords(message) : userText(message.content);
    return [{ text, isSaid: true }];
  }
  return [
    { text: indexableText(message), isSaid: true },
    ...toolResults(message).map(({ content }) => ({ text: content, isSaid: false })),
  ];
}

function add(lists: Map<string, number[]>, key: string, place: number): void {
  const list = lists.get(key);
  if (list) list.push(place);
  else lists.set(key, [place]);
}
