import { MONTHS, NUMBERS, WEEKDAYS } from "../text/time/time-words.ts";
import { wordSet } from "../text/word-set.ts";
import { hasWordThatBegins } from "../text/word-starts.ts";

/** A sentence that gives one thing a value. */
export interface Statement {
  /** The words for the thing, shortened to their stems. */
  readonly words: ReadonlySet<string>;
  readonly values: readonly Value[];
  readonly saysChange: boolean;
}

export interface Value {
  /** Two values are compared when their kinds are the same. */
  readonly kind: string;
  readonly key: string;
  readonly text: string;
  /** It is said not to hold: "not X", "instead of X", "from X to Y". */
  readonly isGone: boolean;
  /** It says which one of several: "Ticket number 17 blocks the release.", "The parcel for Ana has no address." */
  readonly isWhich?: boolean;
}

/**
 * What a sentence is about, when it is asked for its value of a kind: its words, and its other values. An appointment that
 * moves to another day has another time too, so `both`, the kinds of days and times that two sentences have, are left out.
 */
export function addressOf(
  { words, values }: Statement,
  kind: string,
  both: ReadonlySet<string>,
): ReadonlySet<string> {
  const others = values.filter(
    (value) => value.kind !== kind && !value.isGone && !both.has(value.kind),
  );
  return new Set([...words, ...others.map(({ key }) => stem(key))]);
}

const OF_TIME: ReadonlySet<string> = new Set(["weekday", "time"]);

/** The kinds of days and times of which both sentences have one. */
export function timesOfBoth(one: Statement, other: Statement): ReadonlySet<string> {
  const has = ({ values }: Statement, kind: string) =>
    values.some((value) => value.kind === kind && !value.isGone);
  return new Set([...OF_TIME].filter((kind) => has(one, kind) && has(other, kind)));
}

/** Longer texts are no notes: code, logs, lists. */
const TEXT_MAX = 2000;
const SENTENCES_MAX = 12;
const TOKENS_MAX = 40;

/** The sentences of a text that give something a value, plainly. */
export function statementsIn(content: string): readonly Statement[] {
  if (content.length > TEXT_MAX) return [];
  return sentencesOf(content)
    .filter(isPlain)
    .flatMap((sentence) => [statementOf(sentence) ?? [], clausesIn(sentence)].flat());
}

/** The statements of a sentence's clauses, each by itself. Of one with a single word it is not known what it is about: "her name is …". */
function clausesIn(sentence: string): readonly Statement[] {
  const clauses = sentence.split(CLAUSE_END);
  if (clauses.length === 1) return [];
  return clauses
    .flatMap((clause) => statementOf(clause) ?? [])
    .filter(({ words }) => words.size >= CLAUSE_WORDS_MIN);
}

const CLAUSE_WORDS_MIN = 2;

/** The first sentences of a text. */
export function sentencesOf(content: string): readonly string[] {
  return content.split(SENTENCE_END).slice(0, SENTENCES_MAX);
}

/** Whether a sentence tells something, and is no question, condition, plan, opinion, quotation or code. */
export function isPlain(sentence: string): boolean {
  return !NOT_PLAIN.test(sentence);
}

/** Not behind "Dr." and the like. */
const SENTENCE_END = /(?<=[.!?])(?<!\b(?:Dr|Mr|Mrs|Ms|Prof|St|Hr|Fr)\.)\s+|(?<=[。！？])|\n/u;
/** Before another thing that is told in the same sentence. */
const CLAUSE_END =
  /;\s+|\s(?:and|und|et|och|og|en|и)\s|,\s+(?=(?:and |but |und |aber )?(?:the|its?|they|he|she|we|der|die|das|er|sie|es|wir|le|la|les|il|elle|el|lo|los|las)\s)/iu;
/** Nothing is told plainly: a question, a condition, a plan, an opinion, a quotation, code. */
const NOT_PLAIN =
  /[?？`"“”„«»|{}]|^\s*>|\b(?:if|unless|whether|would|could|should|might|maybe|perhaps|probably|plan|plans|planned(?! for| on)|propose|suggest|suggests|for example|think|guess|hope|wish|imagine|suppose|used to|previously|formerly|back then|wenn|falls|ob|vielleicht|könnte|würde|sollte|früher|damals|zum beispiel)\b/iu;

/** "30 de mayo" is "30 mayo". */
const OF_DATES = wordSet("de di do");

const IN_RUSSIAN = "понедельникам вторникам средам четвергам пятницам субботам воскресеньям".split(
  " ",
);

/** "Wednesdays", "mittwochs", "по средам": the day of each week. */
const WEEKLY: ReadonlyMap<string, number> = new Map([
  ...Array.from(WEEKDAYS, ([word, day]) => [`${word}s`, day] as const),
  ...WEEKDAYS,
  ...IN_RUSSIAN.map((word, day) => [word, day] as const),
]);

/** With a capital it is a month. */
const MAY = /\bmay\b/;
const MORE_NUMBERS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ thirteen: 13, fourteen: 14, fifteen: 15, sixteen: 16, seventeen: 17, eighteen: 18 },
    ...{ nineteen: 19, twenty: 20, thirty: 30, forty: 40, fifty: 50, sixty: 60, seventy: 70 },
    ...{ eighty: 80, ninety: 90, hundred: 100 },
  }),
);
const COLOURS = wordSet(
  "red green blue yellow black white grey gray orange purple pink brown rot grün blau gelb schwarz weiß grau",
);
/** Before the time from which something holds. */
const SINCE_WORDS = wordSet("since seit depuis desde vanaf sinds sedan siden od с");
const SINCE = new RegExp(`(?<!\\p{L})(?:${[...SINCE_WORDS].join("|")}) (\\d*\\p{L}+)`, "gu");

/** Whether a text, in small letters, says since which day or month something holds. */
function saysSince(lower: string): boolean {
  return [...lower.matchAll(SINCE)].some(([, name = ""]) => WEEKDAYS.has(name) || MONTHS.has(name));
}

/** "Maria is the lead of the team": what stands first is the value. */
const ROLE =
  /^\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)? (?:is|ist) (?:now |jetzt )?(?:the|our|my|der|die|unser|unsere) (?:new |neue[r]? )?(?:owner|lead|leader|manager|ceo|cto|boss|head|captain|maintainer|chef|chefin|leiter|leiterin)\b/u;
/** "My new dentist is …", "New bin calendar: …", "Nowy kod …", in small letters. */
const NEW =
  /\b(?:my|our|the|his|her) new \p{L}+ (?:is|are)\b|^(?:(?:the|our|my|der|die|das|le|la|el|il|o|a|de|het|den|det) )?(?:new|neuer?|neues|nouve(?:au|lle)|nuev[oa]|nuov[oa]|nov[oa]|nieuwe?|nya?|nytt|now[yae]|нов(?:ый|ая|ое)|yeni)\s/u;
/** A number, a capital inside, or what has a sign of a place. */
const HAS_VALUE = /\d|[^\s.!?] (?![IA]\s)\p{Lu}(?!['’])|[./@]\p{L}/u;
/** The name of a day, a month, a number or a colour. */
const namesValue = hasWordThatBegins(
  [
    ...[...WEEKDAYS.keys(), ...IN_RUSSIAN, ...MONTHS.keys()],
    ...[...NUMBERS.keys(), ...MORE_NUMBERS.keys(), ...COLOURS],
  ].filter((word) => word.length > 2),
);
const TOKEN =
  /#[0-9a-fA-F]{3,8}\b|\d{1,2}:\d{2}|\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,3}(?!\d)|\d{1,9}(?:-\d{1,9}){1,5}|[$€£]|[vV]?\d+(?:[.,]\d+)*\p{L}{0,2}%?|[\p{L}\p{M}_][\p{L}\p{M}\p{N}_'’-]*(?:[./@][\p{L}\p{N}_-]+)*/gu;

function statementOf(sentence: string): Statement | undefined {
  const isRole = ROLE.test(sentence);
  if (!isRole && !HAS_VALUE.test(sentence) && !namesValue(sentence)) return undefined;
  if (MAY.test(sentence)) return undefined;
  const tokens = (sentence.match(TOKEN) ?? []).filter((token) => !OF_DATES.has(token));
  if (tokens.length < 2 || tokens.length > TOKENS_MAX) return undefined;
  const words = new Set<string>();
  const values: Value[] = [];
  const hasNames = !tokens.some((token) => GERMAN.has(token.toLowerCase()));
  const lower = sentence.toLowerCase();
  const saysChange =
    saysSince(lower) || NEW.test(lower) || tokens.some((token) => CHANGES.has(token.toLowerCase()));
  const past = new Set<Value>();
  let isGone = false;
  let isSince = false;
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at] ?? "";
    const word = token.toLowerCase();
    if (SINCE_WORDS.has(word)) isSince = true;
    if (isGoneBefore(tokens, at)) isGone = saysChange || !FROM.has(word);
    else if (HOLDS.has(word)) isGone = false;
    const found =
      valueAt(tokens, at, hasNames) ?? (at === 0 && isRole ? nameAt(tokens) : undefined);
    if (found) {
      const isWhich = !(at === 0 && isRole) && isWhichAt(tokens, at, found.last);
      const value = { ...found.value, isGone, isWhich };
      if (!isSince || !isOfTime(value)) values.push(value);
      isSince = false;
      if (isInPast(tokens, found.last)) past.add(value);
      isGone = false;
      at = found.last;
    } else if (!isEmptyWord(word) && !CHANGES.has(word) && !SINCE_WORDS.has(word)) {
      words.add(isKey(token) ? word : stem(word));
    }
  }
  if (values.length === 0) return undefined;
  return { words, values: saysChange ? withPastOnes(values, past) : values, saysChange };
}

/**
 * Whether the value from `at` to `last` says which one of several a sentence is about: no word for something that has one value
 * stands before it. In "the limit allows 100", "a 100 euro limit" and "100 is the limit" it is the value of that.
 */
function isWhichAt(tokens: readonly string[], at: number, last: number): boolean {
  const words = tokens.map((token) => token.toLowerCase());
  const before = words.slice(0, at);
  const isCounted = before.length > 1 && NUMBER.has(before.at(-1) ?? "");
  if (before.slice(0, isCounted ? -1 : at).some((word) => hasOneValue(stem(word)))) return false;
  const [next = "", unit] = [words[last + 1], last > at];
  return !(IS.has(next) && before.every(isEmptyWord)) && !(unit && hasOneValue(stem(next)));
}

/** In "ticket number 17" it belongs to the ticket. */
const NUMBER = wordSet("number nummer");
const IS = wordSet("is are ist sind est sont es son è sono é são är er jest это");

/** Whether what stands behind a word is gone: not in "from now on", and not in "findet montags statt". */
function isGoneBefore(tokens: readonly string[], at: number): boolean {
  const [word = "", next] = [tokens[at]?.toLowerCase(), tokens[at + 1]?.toLowerCase()];
  return GONE.has(word) && next !== undefined && !(FROM.has(word) && FROM_NOW.has(next));
}

/** In "Backups go to Backblaze now, the Hetzner box was cancelled", what was is gone: another value of its kind holds. */
function withPastOnes(values: readonly Value[], past: ReadonlySet<Value>): readonly Value[] {
  const holds = (kind: string) =>
    values.some((value) => !value.isGone && !past.has(value) && base(value.kind) === base(kind));
  return values.map((value) =>
    past.has(value) && holds(value.kind) ? { ...value, isGone: true } : value,
  );
}

function isOfTime({ kind }: Value): boolean {
  return kind === "date" || kind === "weekday";
}

/** "number" of "number minute". */
function base(kind: string): string {
  return kind.split(" ", 1)[0] ?? kind;
}

/** Whether a word for what is past stands right behind the value that ends at `last`, or one word later. */
function isInPast(tokens: readonly string[], last: number): boolean {
  return [1, 2].some((away) => PAST.has(tokens[last + away]?.toLowerCase() ?? ""));
}

const PAST = wordSet(
  "was were war wurde wurden était étaient fut era erano foi werd var был была было были był była było",
);

interface FoundValue {
  readonly value: Omit<Value, "isGone">;
  /** The last token that it has. */
  readonly last: number;
}

function valueAt(tokens: readonly string[], at: number, hasNames: boolean): FoundValue | undefined {
  const token = tokens[at] ?? "";
  const word = token.toLowerCase();
  const found = (kind: string, key: string, text = token, last = at): FoundValue => ({
    value: { kind, key, text },
    last,
  });
  if (word.startsWith("#") || COLOURS.has(word)) return found("colour", word);
  if (/^\d+-\d/.test(word)) return found("number in groups", word);
  if (/^\p{Lu}{1,3}\d+$/u.test(token)) return found("code", word);
  if (/^\d+:\d/.test(word)) return found("time", word);
  if (/^v?\d+\.\d+\.\d|^v\d/.test(word)) return found("version", word.replace(/^v/, ""));
  const weekday = weekdayOf(word);
  if (weekday !== undefined) return found("weekday", String(weekday));
  if (HOST.test(token)) return found("host", word);
  const isMonth = MONTHS.has(word) && (!ALSO_WORDS.has(word) || /^\d/.test(tokens[at + 1] ?? ""));
  if (isMonth) return dateAt(tokens, at, at + 1);
  const month = MONTHS.has(tokens[at + 1]?.toLowerCase() ?? "") && /^\d{1,2}\D*$/.test(word);
  if (month) return dateAt(tokens, at + 1, at);
  if (/^[$€£]$/.test(word) && /^\d/.test(tokens[at + 1] ?? "")) {
    const number = tokens[at + 1] ?? "";
    return found(`number ${CURRENCY.get(word)}`, numberKey(number), token + number, at + 1);
  }
  const number = numberOf(word);
  if (number !== undefined) return numberAt(tokens, at, number, hasNames);
  const isPlace = /[./@]/.test(word);
  // CEO, URL: what a thing is called, and no name of one.
  const isShort = /^\p{Lu}{2,}s?$/u.test(token);
  const isNamed =
    hasNames &&
    !isShort &&
    at > 0 &&
    /^\p{Lu}/u.test(token) &&
    !EMPTY.has(word) &&
    !OF_SOMEBODY.test(word) &&
    !/^i(?:['’]|$)/.test(word);
  if (!isPlace && !isNamed) return undefined;
  let last = at;
  while (
    !isPlace &&
    /^\p{Lu}/u.test(tokens[last + 1] ?? "") &&
    !isWeekday(tokens[last + 1]?.toLowerCase() ?? "")
  )
    last += 1;
  const text = tokens.slice(at, last + 1).join(" ");
  return found(isPlace ? "place" : "name", text.toLowerCase(), text, last);
}

/** The name that begins a sentence. */
function nameAt(tokens: readonly string[]): FoundValue {
  const last = /^\p{Lu}/u.test(tokens[1] ?? "") ? 1 : 0;
  const text = tokens.slice(0, last + 1).join(" ");
  return { value: { kind: "name", key: text.toLowerCase(), text }, last };
}

/** "June 12", "12 June", "October 6th", "June": `first` is the day or the month, whichever stands first. */
function dateAt(tokens: readonly string[], month: number, day: number): FoundValue {
  const name = tokens[month] ?? "";
  const digits = /^(\d{1,2})(?:st|nd|rd|th)?$/.exec(tokens[day]?.toLowerCase() ?? "")?.[1];
  const [first, last] =
    digits === undefined ? [month, month] : [Math.min(month, day), Math.max(month, day)];
  const key = `${MONTHS.get(name.toLowerCase())} ${digits ?? ""}`;
  return { value: { kind: "date", key, text: tokens.slice(first, last + 1).join(" ") }, last };
}

function numberAt(
  tokens: readonly string[],
  at: number,
  key: string,
  hasNames: boolean,
): FoundValue {
  const token = tokens[at] ?? "";
  const next = tokens[at + 1] ?? "";
  const lower = next.toLowerCase();
  const own = /(?<=\d)(\p{L}+|%)$/u.exec(token)?.[1];
  const isClock = OF_CLOCK.has(own?.toLowerCase() ?? lower);
  if (isClock && Number(key) <= 24) {
    const [text, last] = own === undefined ? [`${token} ${next}`, at + 1] : [token, at];
    return { value: { kind: "time", key, text }, last };
  }
  if (own !== undefined)
    return { value: { kind: `number ${own.toLowerCase()}`, key, text: token }, last: at };
  // A name is no unit. In German each noun has a capital.
  const isUnit = (hasNames ? /^\p{Ll}/u : /^\p{L}/u).test(next);
  if (!isUnit || EMPTY.has(lower) || CHANGES.has(lower) || GONE.has(lower) || HOLDS.has(lower)) {
    const isTime = AT.has(tokens[at - 1]?.toLowerCase() ?? "") && Number(key) <= 24;
    return { value: { kind: isTime ? "time" : "number", key, text: token }, last: at };
  }
  return {
    value: { kind: `number ${stem(lower)}`, key, text: `${token} ${next}` },
    last: at + 1,
  };
}

function numberOf(word: string): string | undefined {
  if (/^\d/.test(word)) return numberKey(word);
  const number = word.length > 2 ? (MORE_NUMBERS.get(word) ?? NUMBERS.get(word)) : undefined;
  return number === undefined || number === 1 ? undefined : String(number);
}

function numberKey(word: string): string {
  return (/^[\d.,\s]*\d/.exec(word)?.[0] ?? word).replaceAll(/[.,\s](?=\d{3}(?!\d))/g, "");
}

/** "Lucy's" says whose a thing is. */
const OF_SOMEBODY = /['’]s$/u;
const DAY_PART =
  /(?:avond|ochtend|middag|nacht|abend|morgen|vormittag|nachmittag|mittag|kväll|morgon|eftermiddag|aften|kveld)s?$/u;
/** helsinki-3, db-ams-2 */
const HOST = /^\p{Ll}\p{L}+(?:-\p{Ll}+){0,3}-\d{1,3}$/u;

const ALSO_WORDS = wordSet("may march");
const CURRENCY: ReadonlyMap<string, string> = new Map([
  ["$", "dollar"],
  ["€", "euro"],
  ["£", "pound"],
]);

/** Behind the number of a time of day, and before one. */
const OF_CLOCK = wordSet("uhr o'clock am pm");
const AT = wordSet("at um à alle las kl klockan klokken om saat");

const STEM_LETTERS = 6;

/** Words that say that something is no longer so. */
const CHANGES = wordSet(
  `now actually instead anymore longer moved changed switched renamed raised lowered increased reduced updated extended
  shortened replaced became correction meanwhile migrated rescheduled postponed upgraded downgraded bumped took over grown grew
  slipped delayed pushed rose risen dropped relocated shifted transferred reassigned doubled halved tripled revised
  jetzt nun inzwischen stattdessen geändert verschoben umgezogen erhöht gesenkt verlängert umbenannt mittlerweile
  verlegt vorverlegt umgestellt angehoben verdoppelt halbiert verkürzt reporté reportée avancé avancée augmenté baissé prolongé
  aplazó aplazado aplazada pospuesto subió bajó aumentó trasladó spostata rinviato rinviata anticipato aumentato aumentata
  adiado adiada aumentou transferido verzet verschoven uitgesteld verhuisd höjdes sänktes flyttad höjt sänkt hævet rykket
  teraz zmieniono zmienił zmieniła przeniesiono przesunięto przesunięty podniesiono wzrósł wzrosła artık değişti taşındı
  ertelendi yükseldi перенесён перенесено переехал переехала продлили
  ahora cambió movió maintenant désormais changé déplacé adesso ora cambiato spostato agora mudou mudado passou voortaan
  nu gewijzigd verplaatst verhoogd numera ändrat ändrades flyttat flyttades höjts nå flyttet endret ændret теперь уже изменился
  изменилась изменили перенесли перенесена повысили больше`,
);
/** Words before a value that is gone. */
const GONE = wordSet(
  "not longer from nicht statt von instead than niet inte ikke pas non não не вместо",
);
/** "From Miami to Lisbon" may be a flight. */
const FROM = wordSet("from von");
const FROM_NOW = wordSet("now today nun jetzt heute");
/** Words before a value that holds. */
const HOLDS = wordSet("to but is are sondern auf zu ist naar");
/** In a sentence with one of these, each noun has a capital. */
const GERMAN = wordSet(
  "der die das den dem des ein eine einen und ist wird nicht im am auf für mit",
);
/** Words that say nothing of the thing. */
const EMPTY = wordSet(
  `the a an of in on at for with by and or as was were be been being am do does did has have had will must that this
  it its we i you he she they our your my his her their us me them then so also still just only very please all every
  each listens listen runs run lives live living stands stand uses use takes take has gets get goes go happens happen set
  there here about up out under per ok okay said says say told note remember update fyi new old current currently
  until till since planned scheduled week month year today yesterday tomorrow
  der die das den dem des ein eine einen einem einer und oder in im am an bei für mit nach von vom zum zur wird werden
  war waren hat haben wir ich du er sie es unser unsere mein meine dein ihr läuft liegt steht
  el la los las un una de del en y es son le les du des et est sont notre mon ma il lo gli i di da è sono per nel della
  dell l o os as da dos das é são no na em ao het een op te zijn van voor met onze mijn en ett och är på av för vår min det
  er til vores findet finden statt wurde wurden ab kostet kosten zahlen bezahlen beträgt monat monatlich jahr jährlich
  held costs charges pays paid monthly yearly coûte cuesta costa betaalt kostar koster fixé été wordt werd plats
  neu neue neuer neues nouveau nouvelle nuevo nueva nuovo nuova novo nova nieuw nieuwe ny nytt nya nowy nowa nowe новый новая
  новое yeni günü gününe günleri saat проходит проходят на в во и для от наш наша моя мой составляет равен`,
);
/** Things that have one value at a time, by their stems. */
const ONE_VALUE_WORDS = wordSet(
  `port deadline limit budget owner version host address url branch price cost size timeout name birthday phone number
  email appointment region salary rent default manager lead leader ceo cto boss room gate seat floor provider colour color
  location password launch release date frist preis termin adresse nummer miete gehalt standort loyer prix adresse mot
  plazo precio alquiler fecha dirección presupuesto affitto scadenza prezzo indirizzo renda prazo preço endereço orçamento
  code kod kode codice código код passwort hasło wachtwoord lösenord contraseña huur prijs termijn adres begroting hyra pris adress budgeten husleie leie adresse бюджет порт срок цена адрес аренда пароль`,
);
const ONE_VALUE = new Set([...ONE_VALUE_WORDS].map(stem));

/** The beginning of a word, without the ending of a plural. */
export function stem(word: string): string {
  return word
    .replace(/['’]s$/u, "")
    .replace(/(?<=\p{L}{3})(?:s|es|en)$/u, "")
    .slice(0, STEM_LETTERS);
}

/** Whether a word, in small letters, is a number. */
export function isNumberWord(word: string): boolean {
  return numberOf(word) !== undefined;
}

/** Whether a word, in small letters, says nothing of the thing that a sentence is about. */
export function isEmptyWord(word: string): boolean {
  return EMPTY.has(word) || HOLDS.has(word) || GONE.has(word);
}

/** A name in a program, such as max_connections. It has one value. */
function isKey(token: string): boolean {
  return KEY.test(token);
}

const KEY = /\p{L}_\p{L}|\p{Ll}\p{Lu}/u;

/** A text, in small letters, without one of these words, and without a key, replaces nothing. */
const hasReplacingWord = hasWordThatBegins(
  [...CHANGES, ...GONE, ...ONE_VALUE_WORDS].filter((word) => !FROM.has(word)),
);

/** Whether one of the words, in small letters, says that something is no longer so. */
export function isChangeWord(word: string): boolean {
  return CHANGES.has(word);
}

/** Whether a text may say that something changed, by a quick look. */
export function mayReplace(text: string): boolean {
  // A longer text has no statements, and looking for one reads all of it.
  if (text.length > TEXT_MAX) return false;
  const lower = text.toLowerCase();
  return KEY.test(text) || hasReplacingWord(lower) || NEW.test(lower) || saysSince(lower);
}

/** Whether a word, in small letters, is the name of a day of the week. */
export function isWeekday(word: string): boolean {
  return weekdayOf(word) !== undefined;
}

/** Also of "woensdagavond" and "Mittwochabend". */
function weekdayOf(word: string): number | undefined {
  return WEEKLY.get(word) ?? WEEKLY.get(word.replace(DAY_PART, ""));
}

/** Whether a thing has one value at a time. `word` is the stem of what it is called, or a key. */
export function hasOneValue(word: string): boolean {
  return ONE_VALUE.has(word) || word.includes("_");
}
