import { madeOnce } from "../../text/made-once.ts";
import { isCommonWord } from "./common-words.ts";
import { STOP_WORDS } from "./english.ts";
import { foldText } from "./fold-text.ts";
import { askedWords, stem, stemsOf } from "./words.ts";

/**
 * Whether a text has most words of a question and answers another one: about another person of a family, or
 * about what was only planned or did not happen.
 *
 *     what does Yusra's son study        "Yusra's daughter studies geology."
 *     who has bought the telescope       "The telescope is to be sold, nobody has asked for it."
 *
 * Counted things tell nothing: "two children" answers "how many kids". A long text says more than can be told from its words.
 */
export function isNearMiss(question: string, text: string): boolean {
  if (text.length > LONG) return false;
  return isOfOtherRelative(question, text) || isNotSo(question, text);
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

/** Whether a text names relatives, and none of those that a question asks for. */
function isOfOtherRelative(question: string, text: string): boolean {
  const lower = foldText(text);
  const words = new Set(lower.match(/\p{L}+/gu));
  const namesSome = RELATIVES()
    .flat()
    .some((one) => words.has(foldText(one)));
  return (
    namesSome &&
    [...question.matchAll(RELATIVE)].some(([word]) => {
      const [group, other] = RELATIVES().filter((words) => words.includes(word.toLowerCase()));
      return group !== undefined && !other && group.every((one) => !lower.includes(foldText(one)));
    })
  );
}

/**
 * Whether a question asks who, when or how much of what happened, and the clause that has its words says that this is only planned, or denies
 * something and lacks a word of the question:
 *
 *     when did Nuala's shop open           "Nuala wants to open a shop."          not so
 *     who got the report from Ignacio      "Ignacio did not finish the report."   not so
 *     when was the boiler serviced         "The boiler was never serviced."       an answer
 *     when did Ben say he would leave      "Ben said that he hopes to stay."      what was said is no plan of the clause
 */
function isNotSo(question: string, text: string): boolean {
  const [asks] = ASKS_WHICH.exec(question) ?? [];
  if (asks === undefined || !OF_THE_PAST.test(question.slice(asks.length))) return false;
  if ([PLANNED, DENIED, REPORTS].some((pattern) => pattern.test(question))) return false;
  const asked = new Set(stemsOf(question));
  const topics = askedWords(question).filter(isTopic);
  let most = 0;
  let isNot = false;
  for (const clause of text.split(CLAUSE_END)) {
    const words = stemsOf(clause);
    const shared = words.filter((word) => asked.has(word)).length;
    if (shared < most) continue;
    const isDenied =
      deniesOther(clause, asked) && !topics.every((word) => words.includes(stem(word)));
    const isOther = !REPORTS.test(clause) && (PLANNED.test(clause) || isDenied);
    isNot = isOther && (shared > most || isNot);
    most = shared;
  }
  return isNot;
}

/** Whether a clause denies something, and it is not what was asked for. */
function deniesOther(clause: string, asked: ReadonlySet<string>): boolean {
  const { index, 0: denial = "" } = DENIED.exec(clause) ?? {};
  if (index === undefined) return false;
  const [denied] = askedWords(clause.slice(index + denial.length)).filter(isTopic);
  return denied === undefined || !asked.has(stem(denied));
}

function isTopic(word: string): boolean {
  return !STOP_WORDS.has(word) && !isCommonWord(word);
}

const CLAUSE_END =
  /[,;:.!?()–—]\s|(?<!\p{L})(?:and|but|und|aber|et|mais|y|pero|e|ma|и|но)(?!\p{L})/u;
/** Who, when, where, which, how many. Any text about a thing may tell what happened to it, how, and why. */
const ASKS_WHICH =
  /^\P{L}{0,9}(?:(?:\p{L}{1,20} )?(?:who|which|when|where|whom|whose|how (?:many|much|long|old|often))|we[rnm]|wo|wann|wie ?(?:viele?|lange?|oft|alt)|welche[rsnm]?|(?:dans |à |avec |de )?(?:qui|quel(?:le)?s?|quand|o[uù]|combien)|(?:a |con |de )?(?:qui[eé]n|cu[aá]ndo|d[oó]nde|cu[aá]nt[oa]s?)|(?:con |di |a )?(?:chi|quale|quando|dove|quant[oaie])|кто|сколько|когда|где)(?!\p{L})/iu;
const OF_THE_PAST =
  /(?<!\p{L})(?:did|has(?! to)|have(?! to)|had|was|were|\p{L}{3,}ed|hat|haben|wurden?|ha|hanno|ont|a(?= \p{L}+[éui]s?(?!\p{L}))|\p{L}{3,}[óé]|siamo|\p{L}{3,}(?:лил?а?|вала?|пила?|роила?))(?!\p{L})/iu;
/** Says that something is wanted or planned. */
const PLANNED =
  /(?<!\p{L})(?:wants? to|would like|hopes? to|plans? to|planned|perhaps|maybe|(?:is|are) to be|thought about|möchten?|wollen|soll|sollen|vielleicht|noch (?:kein|nicht)\p{L}*|envisage\p{L}*|aimerai\p{L}*|peut-être|voudrai\p{L}*|quer(?:emos|ría|rían)|quiere|quizás?|tal vez|forse|vorrei|vorremmo|хочет|хотим|возможно)(?!\p{L})/iu;
const DENIED =
  /(?<!\p{L})(?:not|\p{L}+n['’]t|nobody|never|turn(?:ed)? down|nicht|niemand|nie|keine[nmrs]?|(?:n['’]|ne )\p{L}+ (?:pas|rien|jamais)|no|nunca|nadie|non|mai|nessuno|не|никто|никогда)(?!\p{L})/iu;
/** Behind these stands what somebody said or thought. */
const REPORTS =
  /(?<!\p{L})(?:sa(?:y|ys|id|gte?n?)|t(?:ell|ells|old)|decid\p{L}*|agree[ds]?|promis\p{L}*|ask(?:s|ed)?|think\p{L}*|thought|suggest\p{L}*|recommend\p{L}*|hear[ds]?|wr(?:ite|ites|ote)|advis\p{L}*|warn\p{L}*|because|mein(?:t|te)|entschied\p{L}*|beschl\p{L}*|versprach|versprochen|weil|di(?:t|jo|ce|sse)|dé(?:cid\p{L}*)|promet\p{L}*|parce|porque|perché|сказал\p{L}*|решил\p{L}*)(?!\p{L})/iu;
