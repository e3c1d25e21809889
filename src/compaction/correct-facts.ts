import { indexableText, isSummary, type Message, toolResults } from "../core/message.ts";
import { type Clause, clausesIn } from "./clause-facts.ts";
import { twoEnds } from "./cut-text.ts";
import { summaryWords, userText } from "./render-transcript.ts";

/** A longer text is read at its two ends only. */
const TEXT_CHARACTERS_MAX = 20_000;

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
 * Uncertain facts stay: pronouns, hedges, several names in a clause, and whatever the record says
 * in two ways.
 */
export function correctFacts(
  summary: string,
  record: readonly Message[],
): { readonly text: string; readonly changed: number } {
  const clauses = clausesIn(summary);
  if (clauses.every(saysNothing)) return { text: summary, changed: 0 };
  const facts = new RecordedFacts(record);
  const verdicts = clauses.map((clause) => {
    const goesOn = GOES_ON.test(summary.slice(clause.end, clause.end + 40));
    return facts.judge(goesOn ? { ...clause, isHistory: true } : clause);
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
    if (verdict?.is !== "contradicted" || told.has(clause.subject)) return;
    changed += 1;
    text += summary.slice(from, clause.start) + verdict.instead;
    from = clause.end;
    if (verdict.instead === "")
      from += /^[.,;!。\uff01\uff0c\uff1b]?[ \t]*/.exec(summary.slice(from))?.[0].length ?? 0;
  });
  if (changed === 0) return { text: summary, changed };
  return { text: (text + summary.slice(from)).replace(NESTED, "$1"), changed };
}

/** Words behind a clause that tells what was before. */
const GOES_ON =
  /^[\s.,;!]{0,4}(?:and |but )?(?:then|later|now|until|afterwards|finally|after|before|it|which|is|was|fixed|because|since)\b/i;

function saysNothing({ state, value, polarity, words }: Clause): boolean {
  return !state && !value && (polarity === 0 || words.size < STATEMENT_WORDS_MIN);
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
  /** The last place of a state or number in a clause that may be about anything. */
  readonly #loose = new Map<string, number>();

  constructor(record: readonly Message[]) {
    const all = record.flatMap((message) =>
      textsOf(message).flatMap(({ text, isSaid }) =>
        clausesIn(twoEnds(text, TEXT_CHARACTERS_MAX)).map((clause) => ({ clause, isSaid })),
      ),
    );
    this.#clauses = all.slice(-CLAUSES_MAX);
    this.#clauses.forEach(({ clause }, place) => {
      for (const word of clause.words) add(this.#places, word, place);
      for (const [key] of factsOf(clause)) add(this.#facts, key, place);
      if (clause.anchors.length === 1 && factsOf(clause).length > 0) return;
      for (const each of clause.mentioned) {
        this.#loose.set(each, place);
        for (const anchor of clause.anchors) this.#loose.set(`${anchor} ${each}`, place);
      }
    });
  }

  judge(clause: Clause): Verdict {
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
    const mentioned = clause.mentioned.flatMap((each) => [
      this.#loose.get(each) ?? -1,
      ...clause.anchors.map((anchor) => this.#loose.get(`${anchor} ${each}`) ?? -1),
    ]);
    if (mentioned.some((place) => place > last)) return UNKNOWN;
    return { is: "contradicted", instead: corrected(clause, key, this.#clauses[last]?.clause) };
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
