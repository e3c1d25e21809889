/** An answer longer than this is not a bare error, however it begins. */
const ERROR_TEXT_CHARACTERS_MAX = 1000;

/** How a text begins that a failing program put in the place of an answer. */
const ERROR_TEXTS: readonly RegExp[] = [
  /^(\w*error|\w*exception|fatal|panic)\s*((\(.*?\)|\[.*?\]|code|\d+)\s*)?[:=]/i,
  /^(an |unknown |unexpected |internal |api |http |server |network |request |model )*(error|exception) (\w+ ){0,2}(generating|creating|summari[sz]ing|while|during|occurred|has occurred|calling|from)\b/i,
  /^(http |status |error )*(code )?[45]\d\d\b[\s:-]*(status|error|too many|bad|unauthorized|forbidden|not found|internal|service|gateway|request|overloaded|$)/i,
  /^(the )?(request|call|summary|summari[sz]ation|compaction|generation)( generation)? (has )?(failed|timed out|was aborted|was cancelled|is unavailable|unavailable)\b/i,
  /^(failed|unable|could not|cannot|can't) (to )?((generate|create|produce|write|complete|get|fetch) (an? |the )?(summary|response|answer|completion|request)|summari[sz]e)\b/i,
  /^(rate limit( exceeded| reached)?|quota exceeded|too many requests|service unavailable|internal server error|bad gateway|gateway time-?out|connection (refused|reset|error)|timed? ?out|request timeout|overloaded|prompt is too long|invalid api key|unauthorized|forbidden)\s*([.:;!,(]|$)/i,
  /^traceback \(most recent call last\)/i,
  /^\{\s*"(error|errors|type"\s*:\s*"error|status"\s*:\s*"?(error|[45]\d\d))\b/i,
  /^(undefined|null|nan|none|n\/a|object \w+\])\W*$/i,
];

/**
 * Whether a text is an error's message instead of a summary. Programs that
 * swallow exceptions return such texts as answers; taken for a summary, one
 * would replace a whole history.
 */
export function looksLikeError(text: string): boolean {
  const start = text.replace(/^[^\p{L}\p{N}{]+/u, "").trimEnd();
  return text.length <= ERROR_TEXT_CHARACTERS_MAX && ERROR_TEXTS.some((error) => error.test(start));
}
