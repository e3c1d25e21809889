import { madeOnce } from "../../text/made-once.ts";
import { lacksValue } from "./asked-value.ts";
import { isCommonWord } from "./common-words.ts";
import { STOP_WORDS } from "./english.ts";
import { foldText } from "./fold-text.ts";
import { askedWords, stem, stemsOf } from "./words.ts";

/**
 * Whether a text has most words of a question and answers another one: about another person of a family, about another
 * thing that is counted, or about what was only planned or did not happen.
 *
 *     what does Yusra's son study        "Yusra's daughter studies geology."
 *     how many blankets did we order     "We ordered twelve pillows."
 *     who has bought the telescope       "The telescope is to be sold, nobody has asked for it."
 *
 * A long text says more than can be told from its words.
 */
export function isNearMiss(question: string, text: string): boolean {
  if (text.length > LONG) return false;
  return lacksRelative(question, text) || lacksCounted(question, text) || isNotSo(question, text);
}

const LONG = 300;

/** Groups of words for the same persons. A question for a word of several groups may be about any of them. */
const RELATIVES = madeOnce(() =>
  `sister sibling schwester geschwister soeur sœur hermana sorella, brother sibling bruder geschwister frère hermano fratello,
  son child kid boy sohn kind fils enfant hijo niño figlio, daughter child kid girl tochter kind fille enfant hija niña figlia,
  wife spouse partner frau ehefrau femme mujer esposa moglie, husband spouse partner mann ehemann mari marido esposo marito,
  uncle onkel oncle tío zio, aunt tante tía zia, cousin cousine cugino cugina, niece nichte nièce sobrina, nephew neffe neveu sobrino,
  mother mum mom parent mutter mama mère maman madre mamá mamma, father dad parent vater papa père padre papá`
    .split(",")
    .map((line) => line.trim().split(/\s+/)),
);

/** "Tante Gudrun" and "Frau Köpke" are names. */
const RELATIVE = /(?<!\p{L})\p{L}{3,}(?!\p{L})(?! \p{Lu})/gu;

function lacksRelative(question: string, text: string): boolean {
  const lower = foldText(text);
  return [...question.matchAll(RELATIVE)].some(([word]) => {
    const [group, other] = RELATIVES().filter((words) => words.includes(word.toLowerCase()));
    return group !== undefined && !other && group.every((one) => !lower.includes(foldText(one)));
  });
}

/** Two words, as in "how many unique films". */
const COUNTED =
  /^\P{L}*(?:how many|wie ?viele|combien (?:de |d['’])|cu[aá]nt[oa]s|quant[ie]|quant[oa]s) ?([\p{L}-]{4,}(?: [\p{L}-]{4,})?)/iu;
/** Any event may be counted in these. */
const TIMES = /(?<!\p{L})(?:times|twice|mal|fois|veces|volte|vezes)(?!\p{L})/iu;

function lacksCounted(question: string, text: string): boolean {
  const counted = askedWords(COUNTED.exec(question)?.[1] ?? "");
  const words = counted.filter((word) => !isCommonWord(word) && !STOP_WORDS.has(word));
  if (words.length === 0 || words[0] !== counted[0] || words[0] === "temps") return false;
  // Without a number, the things that it lists may be counted.
  if (lacksValue("count", text)) return false;
  return !TIMES.test(text) && !words.some((word) => hasWord(text, word));
}

/** Whether a text has a word in any form, or a longer one with its beginning. */
function hasWord(text: string, word: string): boolean {
  const form = stem(word);
  if (stemsOf(text).includes(form)) return true;
  const beginning = form.slice(0, Math.max(4, Math.ceil(0.6 * form.length)));
  return form.length > 3 && foldText(text).includes(beginning);
}

/**
 * Whether a question asks for something of what happened, and the clause that has its words says that this is only planned, or that something
 * else did not happen. "The boiler was never serviced" answers "when was the boiler serviced".
 */
function isNotSo(question: string, text: string): boolean {
  const [asks] = ASKS_WHAT.exec(question) ?? [];
  if (asks === undefined || !OF_THE_PAST.test(question.slice(asks.length))) return false;
  if (ASKS_WHY.test(question)) return false;
  if (PLANNED.test(question) || DENIED.test(question)) return false;
  const asked = new Set(stemsOf(question));
  let most = 0;
  let isNot = false;
  for (const clause of text.split(CLAUSE_END)) {
    const shared = stemsOf(clause).filter((word) => asked.has(word)).length;
    if (shared < most) continue;
    const isOther = PLANNED.test(clause) || deniesOther(clause, asked);
    isNot = isOther && (shared > most || isNot);
    most = shared;
  }
  return isNot;
}

/** Whether a clause denies something, and it is not what was asked for: "Ignacio no terminó el informe" for "who got the report from Ignacio". */
function deniesOther(clause: string, asked: ReadonlySet<string>): boolean {
  const { index, 0: word } = DENIED.exec(clause) ?? {};
  if (index === undefined || word === undefined) return false;
  const behind = askedWords(clause.slice(index + word.length));
  const denied = behind.find((one) => !STOP_WORDS.has(one) && !isCommonWord(one));
  return denied === undefined || !asked.has(stem(denied));
}

const CLAUSE_END =
  /[,;:.!?()–—]\s|(?<!\p{L})(?:and|but|und|aber|et|mais|y|pero|e|ma|и|но)(?!\p{L})/u;
const ASKS_WHY = /^\P{L}*(?:why|warum|wieso|pourquoi|por qué|perché|почему)(?!\p{L})/iu;
/** Not "did it": whether something happened at all is answered by a text that says no. */
const ASKS_WHAT =
  /^\P{L}{0,9}(?:(?:\p{L}{1,20} )?(?:who|what|which|when|where|how|whom|whose)|we[rnm]|was|wo|wann|wie|welche[rsnm]?|(?:dans |à |avec |de )?(?:qui|quel(?:le)?s?|quand|o[uù]|combien)|(?:a |con |de )?(?:qui[eé]n|qu[eé]|cu[aá]ndo|d[oó]nde|cu[aá]nt[oa]s?)|(?:con |di |a )?(?:chi|quale|quando|dove|quant[oaie])|кто|сколько|когда|где)(?!\p{L})/iu;
const OF_THE_PAST =
  /(?<!\p{L})(?:did|has(?! to)|have(?! to)|had|was|were|\p{L}{3,}ed|hat|haben|wurden?|ha|hanno|ont|a(?= \p{L}+[éui]s?(?!\p{L}))|\p{L}{3,}[óé]|siamo|\p{L}{3,}(?:лил?а?|вала?|пила?|роила?))(?!\p{L})/iu;
/** Says that something is wanted or planned. */
const PLANNED =
  /(?<!\p{L})(?:wants? to|would like|hopes? to|plans? to|planned|perhaps|maybe|(?:is|are) to be|thought about|möchten?|wollen|soll|sollen|vielleicht|noch (?:kein|nicht)\p{L}*|envisage\p{L}*|aimerai\p{L}*|peut-être|voudrai\p{L}*|quer(?:emos|ría|rían)|quiere|quizás?|tal vez|forse|vorrei|vorremmo|хочет|хотим|возможно)(?!\p{L})/iu;
const DENIED =
  /(?<!\p{L})(?:not|\p{L}+n['’]t|nobody|never|turn(?:ed)? down|nicht|niemand|nie|keine[nmrs]?|(?:n['’]|ne )\p{L}+ (?:pas|rien|jamais)|no|nunca|nadie|non|mai|nessuno|не|никто|никогда)(?!\p{L})/iu;
