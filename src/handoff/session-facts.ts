import { filesIn, withoutEffect } from "../compaction/changed-files.ts";
import { plainCall } from "../compaction/command-lines.ts";
import { consentIn } from "../compaction/consent.ts";
import { contentWords } from "../compaction/content-words.ts";
import { LASTING_CUES, lastingCues } from "../compaction/lasting-cues.ts";
import { requestsIn } from "../compaction/request-outcomes.ts";
import { given, isObject } from "../core/fields.ts";
import { jsonText } from "../core/json-values.ts";
import { indexableText, toolResults, toolUses } from "../core/message.ts";
import { heldAfter } from "../knowledge/lasting-wishes.ts";
import {
  type HandoffMessage,
  type HandoffSource,
  isCommand,
  isTyped,
  type Quote,
  quotable,
  userMark,
} from "./handoff-source.ts";

/** The goal that the task record has. Without one, the newest request says what the person wants. */
export function goalOf({ task }: HandoffSource): Quote | undefined {
  return task && task.goal !== "" ? { at: task.at, by: "user", text: task.goal } : undefined;
}

/** Standing instructions that still hold, and refused calls with their reasons. The newest comes first. */
export function standingInstructions(messages: readonly HandoffMessage[]): readonly Quote[] {
  const typed = messages.flatMap((each) =>
    isTyped(each) ? [{ mark: userMark(each), text: quotable(indexableText(each.message)) }] : [],
  );
  const said = typed.map((one) => ({ ...one, ...given({ by: one.mark.speaker }) }));
  const held = heldAfter(said).map(({ text, said: { mark } }): Quote => ({ ...mark, text }));
  const refused = messages.flatMap(({ at, denied = [] }) =>
    denied.flatMap(({ reason = "" }): readonly Quote[] =>
      reason.trim() === "" ? [] : [{ at, by: "user", text: reason }],
    ),
  );
  return newestOfEach([...held, ...refused].toSorted((one, other) => one.at - other.at));
}

/** A longer answer is a request of its own. */
const ANSWER_MAX = 160;

/**
 * Decisions, in the words of either side: sentences that state one, and short answers of the person with the question that
 * they answer. The newest comes first.
 */
export function decisions(messages: readonly HandoffMessage[]): readonly Quote[] {
  let asked: Asked | undefined;
  let statedLast: readonly Quote[] = [];
  const found = messages.flatMap((each): readonly Quote[] => {
    const { at, message } = each;
    const by = message.role === "user" ? "user" : "assistant";
    const said = quotable(indexableText(message)).trim();
    if ((by === "user" && !isTyped(each)) || said === "") return [];
    const mark = by === "user" ? userMark(each) : ({ at, by } as const);
    const stated = decisionsIn(said, by).map((text): Quote => ({ ...mark, text }));
    const [before, statedBefore] = [asked, statedLast];
    asked = by === "assistant" ? askedAt(at, said) : undefined;
    statedLast = stated;
    const isAnswer = by === "user" && before && said.length <= ANSWER_MAX && !isCommand(said);
    if (!isAnswer || ASKS_BACK.test(said) || !before.isAnsweredBy(said)) return stated;
    // A proposal may be a part of what states it.
    const isPart = statedBefore.some(({ text }) => text.includes(before.quote.text));
    // Quotes are read backwards, so that an answer has room only with its question.
    return [...(isPart ? [] : [before.quote]), { ...mark, text: said }];
  });
  return newestOfEach(found);
}

/** An answer that is a question, or begins with one. */
const ASKS_BACK = /[?？]$|^[^.!?\n]{0,120}[?？]\s/u;

/** A question or a proposal that a message leaves to the person. */
interface Asked {
  readonly quote: Quote;
  isAnsweredBy(said: string): boolean;
}

/**
 * The question or proposal that a message ends with. A question without words of its own has the sentence before it: "By name
 * or by date. Which one do you want?" A proposal is answered by its own words, or by consent: "I could use Redis or a file." – "Redis."
 */
function askedAt(at: number, said: string): Asked | undefined {
  const sentences = (said.split("\n").at(-1) ?? "").split(/(?<=[.!?])\s+/);
  const [last = "", before = ""] = sentences.reverse().map((sentence) => sentence.trim());
  const isQuestion = /[?？]$/.test(last);
  if (last.length <= 10 || last.length > QUESTION_MAX || OFFER.test(last)) return undefined;
  const whole = `${before} ${last}`.trim();
  const isWhole = !isQuestion || (contentWords(last).next().done && whole.length <= QUESTION_MAX);
  const quote = { at, by: "assistant", text: isWhole ? whole : last } as const;
  if (isQuestion) return { quote, isAnsweredBy: () => true };
  if (whole.length > QUESTION_MAX || !PROPOSAL.test(whole)) return undefined;
  const words = new Set(contentWords(whole));
  return {
    quote,
    isAnsweredBy: (answer) =>
      consentIn(answer) === 1 || [...contentWords(answer)].some((word) => words.has(word)),
  };
}

const QUESTION_MAX = ANSWER_MAX * 2;

/** A question about nothing: what is said to it is the next request. */
const OFFER =
  /^(?:(?:is there |do you need )?anything (?:else|more)|what(?:['’]s| is| comes)? (?:now|else|next)|(?:shall|should) (?:i|we) (?:continue|go on|proceed)|(?:how|what) (?:else )?can i |what (?:would you like|do you want|should i do)|(?:gibt es )?(?:sonst )?noch (?:et)?was|wie weiter|autre chose|¿?algo más|altro|mais alguma coisa)\b/iu;

/** Words of a choice that is left open, or of an advice. */
const PROPOSAL =
  /(?<![\p{L}])(?:or|options?|alternatively|either|i['’]d|i would|(?:i|we) c(?:an|ould)|i (?:suggest|recommend|propose)|better|simpler|smaller|oder|besser|ich würde|ou|je proposerais|o bien|oppure|of|eller|lub|albo|или)(?![\p{L}])/iu;

/**
 * The person's requests, each with its outcome, without the message `last`. The newest comes first. A command of the
 * program is a setting of its own, and says nothing of the work.
 */
export function requestsOf(messages: readonly HandoffMessage[], last: number): readonly Quote[] {
  const places = new Map(messages.map((each) => [each.message, each]));
  const other = messages.filter((each) => each.message.role === "user" && !isTyped(each));
  const injected = new Set(other.map(({ message }) => message));
  const names = messages.flatMap((each) => {
    const { speaker } = userMark(each);
    return speaker === undefined ? [] : [[each.message, speaker] as const];
  });
  const asked = requestsIn(
    messages.map(({ message }) => message),
    injected,
    new Map(names),
  ).flatMap(({ message, outcome }): readonly Quote[] => {
    const place = places.get(message);
    const text = indexableText(message).trim();
    if (!place || place.at === last || text === "" || isCommand(text)) return [];
    return [{ ...userMark(place), text, outcome }];
  });
  return newestOfEach(asked);
}

/** Requests at each end that get room before what may hold for longer, and the most of those. */
const ENDS = 4;
const DEMANDS_MAX = 6;

/**
 * Requests in the order in which they get room: the newest and the oldest by turns. Long sessions have their goals at both
 * ends, and their many small steps in between. What sounds as if it holds for longer is no step, wherever it stands:
 *
 *     newest, oldest, next newest, next oldest   then limits and preferences, the surest first   then the others
 */
export function byRoom(all: readonly Quote[]): readonly Quote[] {
  const requests = all.filter(({ text }) => !GOES_ON.test(text));
  const turns = fromBothEnds(requests);
  const demands = requests
    .map((quote) => ({ quote, cues: cuesOf(quote.text) }))
    .filter(({ cues }) => cues >= LASTING_CUES)
    .toSorted((one, other) => other.cues - one.cues)
    .slice(0, DEMANDS_MAX)
    .map(({ quote }) => quote);
  return [...new Set([...turns.slice(0, 2 * ENDS), ...demands, ...turns, ...all])];
}

/** A word of consent, thanks or going on: the request before it says what is wanted. */
const GOES_ON =
  /^(?:(?:ok(?:ay)?|k|yes|yep|sure|great|good|nice|cool|perfect|fine|thanks?|thank you|thx|ty|please|next(?: step)?|continue|go on|go ahead|keep going|carry on|proceed|do it|done|ja|gut|danke|bitte|weiter|mach weiter|oui|merci|continue[sz]?|vas-y|sí|gracias|sigue|continúa|ok[eé]i?|va bene|grazie|avanti|obrigad[oa])[\s,.!…]*){1,4}$/iu;

/** A longer request is hardly a demand alone, and a question is none. */
function cuesOf(text: string): number {
  return text.length > ANSWER_MAX || /[?？]$/.test(text) ? 0 : lastingCues(text);
}

function fromBothEnds(requests: readonly Quote[]): readonly Quote[] {
  return requests.flatMap((newest, index) => {
    const oldest = requests[requests.length - 1 - index];
    if (oldest === undefined || 2 * index >= requests.length) return [];
    return oldest === newest ? [newest] : [newest, oldest];
  });
}

/** Calls that failed, each with the beginning of its error. What succeeded later, or was refused, is none. The newest comes first. */
export function failedCalls(messages: readonly HandoffMessage[]): readonly (readonly Quote[])[] {
  const calls = new Map<string, { readonly call: Quote; readonly key: string }>();
  const failed = new Map<string, readonly Quote[]>();
  for (const { at, message, denied = [] } of messages) {
    for (const use of toolUses(message)) {
      const text = `${use.name} ${jsonText(use.args)}`;
      calls.set(use.id, { key: plainCall(use), call: { at, by: "assistant", text } });
    }
    const refused = new Set(denied.map(({ toolUseId }) => toolUseId));
    for (const { tool_use_id, content, is_error } of toolResults(message)) {
      const known = calls.get(tool_use_id);
      if (!known) continue;
      failed.delete(known.key);
      if (!is_error || refused.has(tool_use_id) || foundNothing(known.call.text, content)) continue;
      const error: Quote = { at, by: "tool", text: content };
      failed.set(known.key, content.trim() === "" ? [known.call] : [known.call, error]);
    }
  }
  return [...failed.values()].reverse();
}

/** Commands that end with 1 where there is no hit, or no difference. */
const SEARCHES = /\b(?:grep|egrep|rg|ag|ack|diff|which|pgrep)\s/;
const SAYS_NOTHING = /^(?:\(?no output\)?)?\s*(?:[\p{L} ]{0,30}(?:code|status):? 1\b\.?)?$/iu;

function foundNothing(call: string, output: string): boolean {
  return SEARCHES.test(call) && SAYS_NOTHING.test(output.trim());
}

/** The files that tools changed, and those that they only read. The newest of each comes first. */
export function filesOf(messages: readonly HandoffMessage[]) {
  const idle = withoutEffect(messages.map(({ message }) => message));
  const used = messages.flatMap(({ at, message }) =>
    toolUses(message)
      .filter(({ id }) => !idle.has(id))
      .map(filesIn)
      .flatMap(({ files, isChange }) =>
        files.map((text) => ({ quote: { at, by: "assistant" as const, text }, isChange })),
      ),
  );
  const quotes = (wanted: boolean) =>
    used.filter(({ isChange }) => isChange === wanted).map(({ quote }) => quote);
  const changed = newestOfEach(quotes(true));
  const names = new Set(changed.map(({ text }) => text));
  return { changed, read: newestOfEach(quotes(false)).filter(({ text }) => !names.has(text)) };
}

/** Each text once, where it was said last. */
function newestOfEach(quotes: readonly Quote[]): readonly Quote[] {
  const found = new Map<string, Quote>();
  for (const quote of quotes.toReversed()) {
    const key = `${quote.speaker ?? ""}\n${quote.text}`;
    if (!found.has(key)) found.set(key, quote);
  }
  return [...found.values()];
}

/** An item of a plan, in the words of the agent that made it. */
interface Task {
  readonly text: string;
  readonly isOpen: boolean;
  readonly at: number;
}

/** Tools that write the whole plan at once. */
const PLAN_TOOLS = /^(?:todo_?write|write_todos?|update_plan|todowrite)$/i;

/**
 * The tasks that were open at the end, and those that were done: those of the task record, or of the last plan that a tool
 * wrote. Claude Code's `TaskCreate` and `TaskUpdate` change one task at a time.
 */
export function tasksOf({ messages, task }: HandoffSource) {
  if (task && task.open.length + (task.done?.length ?? 0) > 0) {
    const quote = (text: string): Quote => ({ at: task.at, by: "assistant", text });
    return { open: task.open.map(quote), done: task.done?.map(quote) ?? [] };
  }
  let plan = new Map<string, Task>();
  const creating = new Map<string, string>();
  for (const { at, message } of messages) {
    for (const { id, name, args } of toolUses(message)) {
      if (!isObject(args)) continue;
      if (PLAN_TOOLS.test(name)) {
        const tasks = itemsIn(args).map((item) => ({ ...item, at }));
        plan = new Map(tasks.map((item, index) => [`${index}`, item]));
      } else if (name === "TaskCreate" && typeof args.subject === "string") {
        creating.set(id, args.subject);
        plan.set(id, { text: args.subject, isOpen: true, at });
      } else if (name === "TaskUpdate") {
        const known = plan.get(`#${args.taskId}`);
        if (known && typeof args.status === "string") {
          plan.set(`#${args.taskId}`, { ...known, isOpen: isOpenStatus(args.status) });
        }
      }
    }
    for (const { tool_use_id, content } of toolResults(message)) {
      const created = plan.get(tool_use_id);
      const [, number] = /#(\d{1,9})\b/.exec(content) ?? [];
      if (!creating.delete(tool_use_id) || !created || number === undefined) continue;
      plan.delete(tool_use_id);
      plan.set(`#${number}`, created);
    }
  }
  const quotes = (wanted: boolean) =>
    [...plan.values()]
      .filter(({ isOpen }) => isOpen === wanted)
      .map(({ text, at }): Quote => ({ at, by: "assistant", text }));
  return { open: quotes(true), done: quotes(false) };
}

/** The items of a plan, whatever the tool calls its fields. */
function itemsIn(args: Readonly<Record<string, unknown>>): readonly Omit<Task, "at">[] {
  const list = Object.values(args).find(Array.isArray) ?? [];
  return list.filter(isObject).flatMap((item) => {
    const text = [item.content, item.step, item.description, item.text].find(
      (value) => typeof value === "string",
    );
    const status = typeof item.status === "string" ? item.status : "";
    return typeof text === "string" && text.trim() !== ""
      ? [{ text, isOpen: isOpenStatus(status) && item.done !== true }]
      : [];
  });
}

function isOpenStatus(status: string): boolean {
  return !/^(?:completed|done|cancell?ed|deleted)$/.test(status);
}

/** A sentence that states a choice or an exclusion. */
const CHOICE =
  /(?<!\p{L})(?:decided|decision|we(?:'ll|’ll| will)? (?:chose|choose|go with|use|keep|settle)|agreed|settled on|let(?:'|’)?s (?:use|go with|keep)|chose|ruled out|rejected|entschieden|entscheidung|(?:wir|ich) (?:nehmen?|wählen?|behalten?|bleiben? bei|setzen? auf|verzichten? auf)|wir (?:verwenden|benutzen|lassen)|(?:nehmen|behalten|verwenden|bleiben|lassen|machen) wir(?! (?:weiter|pause|schluss))|lass(?:t|en sie)? uns (?:[^.!?]{1,60} )?(?:bleiben|nehmen|behalten|verwenden)|geeinigt|abgelehnt|verworfen|décid(?:é|ons)|décision|choisi|retenu|on (?:garde|prend|reste sur)|nous (?:gardons|prenons|utilisons)|decidi(?:do|mos)|decisión|elegi(?:do|mos)|acordado|nos quedamos con|descartado)(?!\p{L})/iu;

/** "The total is 1191 instead of 1190" is a difference. It takes someone who chooses, or a reason, to make it a choice. */
const DIFFERENCE =
  /(?<!\p{L})(?:instead of|rather than|trade-?off|statt (?=\p{L})|anstelle|plutôt que|au lieu d[e'’]|en (?:lugar|vez) de)/iu;
const CHOOSES =
  /(?<!\p{L})(?:we|i|us|let(?:'|’)?s|use|keep|take|prefer|choose|chose|pick|switch|stick|wir|uns|ich|nimm|nehmt|nous|on|je|usamos|usa|usemos)(?!\p{L})/iu;

/** A report of work: "Fixed the loader to use a map instead of a list". The files that changed say it. */
const REPORT =
  /^(?:\*\*|`)?(?:(?:fixed|changed|updated|added|removed|replaced|renamed|moved|rewrote)\b|ich habe(?!\p{L})(?! mich\b)|j['’]ai (?!décidé|choisi)|he (?!decidido|elegido))/iu;

/** Words that may stand before the sentence's own. */
const OPENING =
  /^(?:(?:ok(?:ay)?|now|next|first|then|great|good|perfect|so|and|but|also|finally|alright|right|sure|yes|actually|hmm|wait|done|gut|ja|also|und|aber|fertig|bon|oui|et|bien|vale|sí|y)(?!\p{L})[\s,.:;!–—-]{0,4}){1,4}/iu;

/** The model's next step. It is no choice. */
const ANNOUNCEMENT =
  /^(?:let me\b|i(?:'ll|’ll| will|(?:'m|’m| am) (?:going to|about to)|(?:'m|’m| am) now| need to| have to| want to| should| can| could)\b|we (?:need to|have to|should|can|could)\b|let(?:'|’)?s (?!use|go with|keep|settle|stick)|time to\b|going to\b|\p{L}{2,}ing\b|(?:jetzt|nun|dann|zuerst|als nächstes) (?!nehmen|bleiben|behalten|verwenden)|ich (?:werde|muss|möchte|will|kann|ändere|prüfe|schreibe|baue)(?!\p{L})|lass mich\b|je (?:vais|dois|peux)(?!\p{L})|voy a\b|(?:puedo|debo|déjame)(?!\p{L}))/iu;

/** A choice that the one who makes it announces: "I'll go with the table". */
const OWN_CHOICE =
  /^(?:i|we)(?:'ll|’ll| will|(?:'m|’m| am) going to) (?:go with|keep|stick (?:with|to)|choose|settle on|leave)\b/iu;

/** "Now change the callers:", "Instead of that, let me write a helper": what comes next. */
const STEP = /[:：]$|^[^.!?]{0,120}, let me\b/iu;

/** A reason, in the sentence or at the beginning of the next one. */
const REASON =
  /\b(?:because|since|so that|otherwise|the reason|due to|weil|denn|damit|sonst|parce que|porque)\b/iu;
const GIVES_REASON =
  /^(?:because|since|otherwise|the reason|that way|this way|it|that|this|they|weil|sonst|car|porque)\b/iu;

const SENTENCE = { min: 15, max: 300 } as const;

/**
 * The decisions in a message, word for word, each with its reason where the next sentence gives it. What a model
 * says that it is going to do ("Now let me update the method") is none, unless it says why.
 */
export function decisionsIn(
  message: string,
  by: "user" | "assistant" = "assistant",
): readonly string[] {
  return message
    .split("\n")
    .filter((line) => !/^\s*[>|]/.test(line))
    .flatMap((line) => {
      const sentences = line.split(/(?<=[.!?])\s+/).map((sentence) => sentence.trim());
      return sentences.flatMap((sentence, index) => {
        if (!isDecision(sentence) && !(by === "user" && changesMind(sentence))) return [];
        const next = sentences[index + 1] ?? "";
        const hasReason = GIVES_REASON.test(next) && !isDecision(next) && !next.endsWith("?");
        const whole = hasReason && !REASON.test(sentence) ? `${sentence} ${next}` : sentence;
        return [whole.length <= SENTENCE.max ? whole : sentence];
      });
    });
}

/** A person who decides again: "Back to SQLite for the cache.", "Postgres, final." A model goes back to its work. */
const OTHER_MIND =
  /\b(?:changed my mind|change of (?:plans?|mind)|forget what|scrap (?:the|that|what)|(?:that['’]s |is |, )final[.!]*$)|^(?:\p{L}+,? )?back to\b/iu;

function changesMind(sentence: string): boolean {
  const isLong = sentence.length > ANSWER_MAX || sentence.length < SENTENCE.min;
  return !isLong && !sentence.endsWith("?") && OTHER_MIND.test(sentence);
}

function isDecision(sentence: string): boolean {
  if (sentence.length < SENTENCE.min || sentence.length > SENTENCE.max) return false;
  if (sentence.endsWith("?") || STEP.test(sentence)) return false;
  const own = sentence.replace(/^[-*•\d.)\s]{0,8}/, "").replace(OPENING, "");
  if (OWN_CHOICE.test(own)) return true;
  const isChoice = CHOICE.test(sentence);
  if (!isChoice && !DIFFERENCE.test(sentence)) return false;
  if (REASON.test(own)) return true;
  if (ANNOUNCEMENT.test(own) || REPORT.test(own)) return false;
  return isChoice || CHOOSES.test(sentence);
}
