import { indexableText, isSummary, type Message, toolResults, toolUses } from "../core/message.ts";
import { refusalIn } from "../core/refusal.ts";
import { isReading, plainCall } from "./command-lines.ts";
import { consentIn } from "./consent.ts";
import { contentWords } from "./content-words.ts";
import { cutEnd } from "./cut-text.ts";
import { userText } from "./render-transcript.ts";

/** A command whose last run failed, or succeeded. */
interface Run {
  readonly at: number;
  readonly failed: boolean;
  /** The command, and what it counted. */
  readonly shown: string;
  readonly words: ReadonlySet<string>;
  readonly isTest: boolean;
}

/** An answer of a person to a question. */
interface Answer {
  readonly at: number;
  readonly consent: -1 | 1;
  readonly shown: string;
  readonly words: ReadonlySet<string>;
}

/**
 * How calls ended and what people answered, from the record itself. A summary may turn it round in words that the record
 * does not have:
 *
 *     record    npm test ends with an error.           Shall I send it? – No, wait for Ana.
 *     summary   The whole suite is green.              The user agreed to send it.
 *     becomes   on record: “npm test” failed.          on record: “No, wait for Ana”.
 */
export class ToldOutcomes {
  readonly #runs = new Map<string, Run>();
  readonly #answers: Answer[] = [];
  /** The words of what people said, and where. */
  readonly #said: { readonly at: number; readonly words: ReadonlySet<string> }[] = [];
  /** The last place where someone says that something works. */
  #worksAt = -1;

  constructor(record: readonly Message[]) {
    const calls = new Map<string, string>();
    let question = "";
    for (const [at, message] of record.entries()) {
      for (const use of toolUses(message)) calls.set(use.id, plainCall(use));
      for (const result of toolResults(message)) {
        const call = calls.get(result.tool_use_id);
        if (call !== undefined) this.#read(call, result, at);
      }
      if (isSummary(message)) continue;
      if (message.role === "user") this.#hear(userText(message.content), question, at);
      const text = message.role === "user" ? "" : indexableText(message).trim();
      if (message.role === "user" || text !== "") question = text.split("\n").at(-1) ?? "";
      const said = message.role === "user" ? userText(message.content) : text;
      if (SUCCESS.test(said) && !FAILURE.test(said) && !/\?$/.test(said)) this.#worksAt = at;
    }
  }

  #read(
    call: string,
    { content, is_error }: { readonly content: string; readonly is_error?: boolean },
    at: number,
  ): void {
    if (isReading(call) || (is_error && refusalIn(content))) return;
    const counts = [...content.matchAll(COUNTS)].slice(-COUNTS_MAX).map(([count]) => count);
    const failed = is_error === true || counts.some((count) => FAILED_COUNT.test(count));
    const line = cutEnd(call.replace(/^\S+ /, "").replace(/[“”]/g, ""), LINE_MAX, "…");
    const shown = `on record: “${line}” failed${counts.length > 0 ? ` (${counts.join(", ")})` : ""}`;
    const isTest = counts.length > 0 || TEST_CALL.test(call);
    this.#runs.delete(call);
    this.#runs.set(call, { at, failed, shown, words: new Set(contentWords(call)), isTest });
  }

  #hear(text: string, question: string, at: number): void {
    const consent = /[?？]\s*$/.test(question) ? consentIn(text) : 0;
    const [first = ""] = text.trim().split(/(?<=[.!?])\s|\n/);
    if (consent !== 0 && first.length <= ANSWER_MAX) {
      const shown = `on record: “${first.replace(/[.“”]+/g, "")}”`;
      this.#answers.push({ at, consent, shown, words: new Set(contentWords(question)) });
    }
    this.#said.push({ at, words: new Set(contentWords(text)) });
  }

  /** The text in the place of a clause that says the opposite. What it is about may stand in the `rest` of its sentence. */
  instead(told: string, rest = ""): string | undefined {
    const clause = told.replace(FLAWLESS, " successfully ");
    if (UNSURE.test(clause)) return undefined;
    return (
      this.#insteadOfAnswer(clause, rest) ??
      (rest === "" ? this.#insteadOfSuccess(clause) : undefined)
    );
  }

  #insteadOfAnswer(clause: string, rest: string): string | undefined {
    const told = AGREED.test(clause) ? 1 : DECLINED.test(clause) ? -1 : 0;
    if (told === 0) return undefined;
    const words = new Set(contentWords(clause + rest));
    const shared = ({ words: asked }: Pick<Answer, "words">) =>
      [...asked].filter((word) => words.has(word));
    const answer = this.#answers.findLast((one) => shared(one).length >= SHARED_MIN);
    if (!answer || answer.consent === told) return undefined;
    // The same may have been spoken of again.
    const again = this.#said.some(
      ({ at, words: later }) => at > answer.at && shared(answer).some((word) => later.has(word)),
    );
    return again ? undefined : answer.shown;
  }

  #insteadOfSuccess(clause: string): string | undefined {
    if (!SUCCESS.test(clause)) return undefined;
    const named = [...contentWords(clause.replace(new RegExp(SUCCESS, "giu"), " "))].filter(
      (word) => !GENERIC.test(word),
    );
    if (named.length === 0 && !TESTS.test(clause)) return undefined;
    const about = [...this.#runs.values()].filter(({ words, isTest }) =>
      named.length === 0 ? isTest : named.every((word) => words.has(word)),
    );
    const last = about.at(-1);
    return last?.failed && last.at > this.#worksAt ? last.shown : undefined;
  }
}

/** Whether a text may tell of an outcome or of an answer. */
export function tellsOutcome(text: string): boolean {
  return [SUCCESS, FLAWLESS, AGREED, DECLINED].some((pattern) => pattern.test(text));
}

const SHARED_MIN = 2;
const ANSWER_MAX = 160;
const LINE_MAX = 80;
const COUNTS_MAX = 3;

const COUNTS =
  /(?<![\d.,:])\d{1,7} (?:tests? |checks? )?(?:passed|failed|passing|failing|failures?|successful)\b/gi;
const FAILED_COUNT = /^[1-9]\d* .*fail/i;
const TEST_CALL = /(?:gh run|tests?|checks?|spec|jest|pytest|verify|make)\b/i;

/** Words for what was checked, as a whole. */
const TESTS =
  /(?<!\p{L})(?:tests?|checks?|suites?|specs?|ci|pipeline|pruebas?|prüfungen)(?!\p{L})/iu;
/** The beginnings of words that name no check in particular. */
const GENERIC =
  /^(?:all|every|each|whole|entir|test|tests|check|suite|spec|specs|alle|sind|sämtl|ganze|gesam|läuft|laufe|waren|tous|toute|tout|sont|ensem|todas|todos|toda|están|estan|prueb|prüfu|again|agora|jetzt|ahora|maint|fully|durch)$/;

/** The one kind of "without" that is no exception. */
const FLAWLESS =
  /(?<!\p{L})(?:without (?:any )?(?:problem|error|failure|issue)s?|ohne (?:fehler|probleme)|sans (?:erreur|problème|échec)s?|sin (?:errores|problemas|fallos))(?!\p{L})/iu;

/** What went well, in any words. */
const SUCCESS =
  /(?<!\p{L})(?:pass(?:ed|es|ing)?|green|succe(?:ed(?:ed|s)?|ss|ssful(?:ly)?)|works?|worked|grün|bestanden|erfolgreich|funktioniert|réussi\w{0,3}|pass(?:é|ée|és|ées|ent)|verte?s?|fonctionne|pasa(?:n|ron|do)?|éxito|verdes?|funciona)(?!\p{L})/iu;
const FAILURE =
  /fail|error|broke|(?<!\p{L})(?:not?|red|rot|nicht|kein\w{0,2}|pas|rouges?|rojos?)(?!\p{L})|n['’]t\b|fehl|échou|fall[aóo]|erreur|kaputt/iu;

const AGREED =
  /(?<!\p{L})(?:agreed|approved|accepted|consented|said yes|gave (?:the |his |her |their )?(?:go-ahead|permission|consent|ok)|stimmte|zugestimmt|einverstanden|genehmigte?|erlaubte?|accepté|approuvé|consenti|autorisé|aceptó|aceptado|aprobó|aprobado|autorizó|consintió)(?!\p{L})/iu;
const DECLINED =
  /(?<!\p{L})(?:declined|refused|rejected|vetoed|said no|lehnte|abgelehnt|verweigerte?|refusé|rejeté|rechazó|rechazado|se negó)(?!\p{L})/iu;

/** A negation, a wish, a condition or an earlier time. */
const UNSURE =
  /[?？]$|n['’]t\b|(?<!\p{L})(?:not?|never|none|nothing|without|except|almost|mostly?|some|but|wants?|wanted|asked|asks|should|must|will|would|could|may|if|unless|whether|when|until|before|once|needs?|make|sure|to (?:pass|work|succeed)|goal|try|tried|expect\w{0,3}|hopes?|first|initially|originally|earlier|previously|nicht|nie|kein\w{0,2}|ohne|fast|soll\w{0,3}|muss|müssen|will|wenn|falls|bis|damit|bevor|zuerst|anfangs|vorher|ne|pas|jamais|sans|sauf|presque|doit|doivent|faut|si|quand|avant|pour que|d['’]abord|nunca|sin|excepto|casi|deben?|quiere|cuando|antes|hasta|para que|primero)(?!\p{L})/iu;
